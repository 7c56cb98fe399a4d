import path from "node:path";
import { labAddresses } from "../../tools/lab/addresses";
import { Lab } from "../../tools/lab/lab";

/** What `npm run test:e2e` sets up for tests and hands over in EGRESS_TEST_* variables. */
export interface TestLab {
  /** The lab host, running. `lab.inside("virsh", "list")` runs a command in it. */
  lab: Lab;
  /** Address of the lab host, for ssh as root with `lab.keyFile` and `lab.knownHostsFile`. */
  address: string;
  /** This side's address that no allowed client's network holds. */
  outsider: string;
  /** This side's address, as a client that a test may allow. */
  near: string;
  /** URL of the check target: answers 204. */
  target: string;
  /** The guest image; SHA256SUMS lies beside it. */
  image: string;
  /** Folder with pulumi and its plugins. */
  bin: string;
}

/** @throws Error that names the missing variable, when the tests were not started through npm */
export function testLab(): TestLab {
  const number = Number(needed("EGRESS_TEST_LAB_NUMBER"));
  const { host, near, outsider } = labAddresses(number);
  return {
    lab: new Lab(`egress-test-${number}`, number, needed("EGRESS_TEST_LAB")),
    address: host,
    near,
    outsider,
    target: needed("EGRESS_TEST_TARGET"),
    image: path.resolve(needed("EGRESS_TEST_IMAGE")),
    bin: needed("EGRESS_TEST_BIN"),
  };
}

/** A variable of the test run's environment. */
export function needed(name: string): string {
  const value = process.env[name];
  if (value) return value;
  throw new Error(`${name} is not set. Run these tests with npm run test:e2e, which sets up what they need.`);
}
