export type PathSegment = string | number;
export type PropertyPath = readonly PathSegment[];

const PLAIN_KEY = /^[A-Za-z0-9_-]+$/;

/** Pulumi's spelling of a path: `egress:pools.crawl.members["a.b"].port`, `egress:providers.lab.hosts[0]`. */
export function propertyPath([key, ...rest]: PropertyPath): string {
  return rest.reduce<string>((text, segment) => {
    if (typeof segment === "number") return `${text}[${segment}]`;
    return PLAIN_KEY.test(segment) ? `${text}.${segment}` : `${text}[${JSON.stringify(segment)}]`;
  }, `egress:${key}`);
}
