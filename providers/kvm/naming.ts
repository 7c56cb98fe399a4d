import type { BaseNaming } from "../images/naming";
import type { KvmMachineInputs } from "../machine/spec";

/** Which base a machine hangs on. */
export type BaseOf = (inputs: Pick<KvmMachineInputs, "entry" | "image">) => BaseNaming;

/** `kvm`: a base is shared by every entry of a host, `base-<key>`. */
export const sharedBase: BaseOf = ({ image }) => ({ key: image.key });
