import { PolicyPack } from "@pulumi/policy";
import { rules } from "./index";

// What `--policy-pack policies` runs: every rule with its defaults.
new PolicyPack("egress-proxies", { enforcementLevel: "mandatory", policies: rules() });
