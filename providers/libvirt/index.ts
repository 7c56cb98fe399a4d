export * from "./client";
export * from "./dial";
export * from "./errors";
export * from "./flags";
export * from "./types";
