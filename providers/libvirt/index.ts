export * from "./client";
export * from "./errors";
export * from "./flags";
export * from "./types";
