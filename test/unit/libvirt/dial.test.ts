import assert from "node:assert/strict";
import type { Duplex } from "node:stream";
import { DEFAULT_SOCKETS, dialLibvirt, type UnixForwarder } from "@egress-proxies/providers/libvirt/dial";
import { ErrorCode, LibvirtError } from "@egress-proxies/providers/libvirt/errors";
import { procedures } from "@egress-proxies/providers/libvirt/procedures";
import { PermanentError, TransientError } from "@egress-proxies/providers/machine/errors";
import { ForwardingRefusedError, SocketUnavailableError } from "@egress-proxies/providers/ssh/errors";
import { FakeDaemon } from "./fake-daemon";

type Answer = "daemon" | "missing" | "refused" | "dies";

/** An SSH connection to a host where each path and command does what the test says, and notes what was asked. */
class FakeHost implements UnixForwarder {
  readonly asked: string[] = [];
  readonly daemon = new FakeDaemon();

  constructor(private readonly answer: (asked: string) => Answer | Error) {}

  openUnixSocket(path: string): Promise<Duplex> {
    return this.#open(path);
  }

  exec(command: string): Promise<Duplex> {
    return this.#open(command);
  }

  async #open(what: string): Promise<Duplex> {
    this.asked.push(what);
    const answer = this.answer(what);
    if (answer instanceof Error) throw answer;
    if (answer === "missing") throw new SocketUnavailableError("host-a", what);
    if (answer === "refused") throw new ForwardingRefusedError("host-a", what);
    if (answer === "dies") this.daemon.end();
    return this.daemon.client;
  }
}

/** Sockets are refused; of the commands only the one that begins so finds a daemon, the others end at once. */
function refusing(works: string): { dial(socket?: string): Promise<string[]> } {
  return {
    async dial(socket) {
      const asked: string[] = [];
      const forwarder: UnixForwarder = {
        openUnixSocket: async (path) => {
          asked.push(path);
          throw new ForwardingRefusedError("host-a", path);
        },
        exec: async (command) => {
          asked.push(command);
          const daemon = new FakeDaemon();
          if (!command.startsWith(works)) daemon.end();
          return daemon.client;
        },
      };
      const client = await dialLibvirt(forwarder, {
        hostName: "host-a",
        ...(socket !== undefined && { socket }),
      });
      await client.close();
      return asked;
    },
  };
}

const [first, second] = DEFAULT_SOCKETS as [string, string];

describe("dialling libvirt", () => {
  it("takes libvirtd's socket where there is one", async () => {
    const host = new FakeHost(() => "daemon");
    const client = await dialLibvirt(host, { hostName: "host-a" });
    assert.deepEqual(host.asked, ["/var/run/libvirt/libvirt-sock"]);
    await client.close();
  });

  it("else virtqemud's", async () => {
    const host = new FakeHost((path) => (path === first ? "missing" : "daemon"));
    const client = await dialLibvirt(host, { hostName: "host-a" });
    assert.deepEqual(host.asked, [first, "/var/run/libvirt/virtqemud-sock"]);
    await client.close();
  });

  it("takes the configured socket and no other", async () => {
    const host = new FakeHost(() => "missing");
    await assert.rejects(dialLibvirt(host, { hostName: "host-a", socket: "/run/my-sock" }), TransientError);
    assert.deepEqual(host.asked, ["/run/my-sock"]);
  });

  it("says what it looked for where there is none, and passes for transient", async () => {
    const host = new FakeHost(() => "missing");
    await assert.rejects(dialLibvirt(host, { hostName: "host-a" }), (error) => {
      assert.ok(error instanceof TransientError);
      assert.deepEqual([error.reason, error.where], ["LibvirtUnavailable", "host-a"]);
      assert.ok(error.message.includes(first) && error.message.includes(second));
      assert.match(error.remedy ?? "", /systemctl enable --now libvirtd/);
      return true;
    });
  });

  it("else virtqemud's, too, where libvirtd's is there and nobody listens, which looks like a refusal", async () => {
    const host = new FakeHost((path) => (path === first ? "refused" : "daemon"));
    const client = await dialLibvirt(host, { hostName: "host-a" });
    assert.deepEqual(host.asked, [first, second]);
    await client.close();
  });

  it("where forwarding is refused runs virt-ssh-helper", async () => {
    const helper = "virt-ssh-helper 'qemu:///system'";
    assert.deepEqual(await refusing("virt-ssh-helper").dial(), [first, second, helper]);
  });

  it("else nc, on each socket in turn", async () => {
    assert.deepEqual(await refusing(`nc -U '${second}'`).dial(), [
      first,
      second,
      "virt-ssh-helper 'qemu:///system'",
      `nc -U '${first}'`,
      `nc -U '${second}'`,
    ]);
  });

  it("reaches a configured socket through nc only, quoted for the shell", async () => {
    assert.deepEqual(await refusing("nc").dial("/run/it's here"), [
      "/run/it's here",
      "nc -U '/run/it'\\''s here'",
    ]);
  });

  it("names the remedy where no program helps either", async () => {
    await assert.rejects(refusing("nothing").dial(), (error) => {
      assert.ok(error instanceof PermanentError);
      assert.equal(error.reason, "ForwardingRefused");
      assert.match(error.remedy ?? "", /AllowStreamLocalForwarding yes/);
      return true;
    });
  });

  for (const code of [ErrorCode.AUTH_UNAVAILABLE, ErrorCode.ACCESS_DENIED, ErrorCode.AUTH_FAILED]) {
    it(`names the group to join where the daemon refuses the login with ${code}`, async () => {
      const host = new FakeHost(() => "daemon");
      host.daemon.on(procedures.connectOpen, (call) => host.daemon.replyError(call, code));
      await assert.rejects(dialLibvirt(host, { hostName: "host-a" }), (error) => {
        assert.ok(error instanceof PermanentError);
        assert.deepEqual([error.reason, error.where], ["LibvirtAccessDenied", "host-a"]);
        assert.match(error.remedy ?? "", /usermod -aG libvirt/);
        return true;
      });
    });
  }

  it("names the group to join where polkit cannot even be asked, which is an internal error", async () => {
    const host = new FakeHost(() => "daemon");
    host.daemon.on(procedures.authList, (call) =>
      host.daemon.reply(call, procedures.authList, { types: [2] }),
    );
    host.daemon.on(procedures.authPolkit, (call) => host.daemon.replyError(call, ErrorCode.INTERNAL_ERROR));
    await assert.rejects(
      dialLibvirt(host, { hostName: "host-a" }),
      (error) => error instanceof PermanentError && error.reason === "LibvirtAccessDenied",
    );
  });

  it("passes other errors on as they are", async () => {
    const lost = new Error("the SSH connection was lost");
    await assert.rejects(
      dialLibvirt(new FakeHost(() => lost), { hostName: "host-a" }),
      (error) => error === lost,
    );
    const host = new FakeHost(() => "daemon");
    host.daemon.on(procedures.connectOpen, (call) => host.daemon.replyError(call, ErrorCode.INTERNAL_ERROR));
    await assert.rejects(dialLibvirt(host, { hostName: "host-a" }), LibvirtError);
  });
});
