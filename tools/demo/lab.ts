import { labAddresses } from "../lab/addresses";
import { Lab } from "../lab/lab";
import { Target } from "../target/target";

/** The demo's lab host and its check target, all in one folder. */
export function demoLab(number: number, folder: string): { lab: Lab; target: Target } {
  return {
    lab: new Lab("egress-demo", number, folder),
    target: new Target(labAddresses(number).near, folder),
  };
}
