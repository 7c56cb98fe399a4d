import { SHELL_FUNCTIONS } from "./install-script";

/**
 * A vendor-data script that gets QEMU's guest agent running: installed where it is missing, then enabled. Safe to
 * run again. It always succeeds, so that a guest without the agent still boots as a good machine; what went wrong
 * stands in /var/log/cloud-init-output.log.
 *
 * `--no-block`, because without a virtio channel the agent's unit would wait 90 s for its device.
 */
export const GUEST_AGENT_SCRIPT = `#!/bin/sh
# Gets QEMU's guest agent running, so that the host can ask this guest for its addresses.
${SHELL_FUNCTIONS}
has qemu-ga || install_package qemu-guest-agent || echo "qemu-guest-agent could not be installed" >&2
if has qemu-ga; then
  start_service qemu-guest-agent --no-block || echo "qemu-guest-agent could not be started" >&2
fi
exit 0
`;
