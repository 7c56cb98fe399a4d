import assert from "node:assert/strict";
import { PermanentError } from "@egress-proxies/providers/machine/errors";
import { MEASUREMENTS, parseOptions } from "../../../bench/options";

describe("options of the benchmark", () => {
  it("measure everything in full size unless told otherwise", () => {
    assert.deepEqual(parseOptions([]), { only: MEASUREMENTS, quick: false });
    assert.deepEqual(parseOptions(["--only", "calls,upload", "--quick", "--json", "f"]), {
      only: ["calls", "upload"],
      quick: true,
      json: "f",
    });
  });

  it("name what is unknown, and what is known", () => {
    for (const args of [["--only", "speed"], ["--slow"], ["extra"]]) {
      assert.throws(
        () => parseOptions(args),
        (error) =>
          error instanceof PermanentError &&
          /speed|slow|extra/.test(error.message) &&
          /upload,publish/.test(error.message),
      );
    }
  });
});
