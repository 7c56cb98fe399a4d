import { deploy } from "./program";

export = async () => deploy();
