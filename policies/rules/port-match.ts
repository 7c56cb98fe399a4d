import { unpackText } from "@egress-proxies/providers/machine/packed-text";
import { httpPortsOf } from "@egress-proxies/providers/squid/http-ports";
import type { ResourceValidationPolicy } from "@pulumi/policy";
import { forChecks, forMachines } from "../resources";
import { violation } from "../violation";

/**
 * The port that user-data makes squid listen on is the one that is checked and given out. A machine is
 * always seen before its check, which needs the machine's address, so what it listens on is kept until
 * then: nothing else shows both.
 */
export function portMatch(): ResourceValidationPolicy {
  const listening = new Map<string, number[]>();
  return {
    name: "port-match",
    description: "squid listens on the port that crawlers are told.",
    validateResource: [
      forMachines(({ props }) => {
        // Where the text is not known yet the next line ends here: nothing older may stand for it.
        listening.delete(props.owner.name);
        listening.set(props.owner.name, httpPortsOf(unpackText(props.userData)));
      }),
      forChecks(({ name, props: { name: machine, port }, report }) => {
        const ports = listening.get(machine) ?? [];
        if (ports.length === 0 || ports.includes(port)) return;
        const problem = `is not what its user-data makes squid listen on: ${ports.join(", ")}`;
        const remedy = `Set the pool's or member's port to ${ports[0]}, or http_port to ${port}.`;
        report(violation({ resource: name, property: "port", value: port, problem, remedy }));
      }),
    ],
  };
}
