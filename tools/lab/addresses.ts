/** The lab script's networks, for lab number N (1 to 150). */
export interface LabAddresses {
  /** The host itself: sshd. */
  host: string;
  /** This side of the link: where crawlers and the check's target are. */
  near: string;
  /** This side once more, in a network that no proxy of the demo allows. */
  outsider: string;
  /** The guests' network, as a CIDR. */
  guests: string;
}

export function labAddresses(number: number): LabAddresses {
  return {
    host: `10.77.${number}.2`,
    near: `10.77.${number}.1`,
    outsider: `10.78.${number}.1`,
    guests: `192.168.${100 + number}.0/24`,
  };
}

/** The number of the lab whose host has this address; undefined if it is no lab's. */
export function labNumberOf(address: string): number | undefined {
  const number = Number(/^10\.77\.(\d{1,3})\.2$/.exec(address)?.[1]);
  return number >= 1 && number <= 150 ? number : undefined;
}
