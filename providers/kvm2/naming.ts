import type { BaseOf } from "../kvm/naming";

/** `kvm2`: an entry's bases are its own, `base-<entry>-<key>`; two entries may use one key for two images. */
export const entryBase: BaseOf = ({ entry, image }) => ({ entry, key: image.key });
