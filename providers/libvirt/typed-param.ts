import { array, type Codec, double, hyper, int, string, truth, uhyper, uint } from "./codec";
import { LibvirtProtocolError } from "./errors";
import type { TypedParams } from "./types";
import type { XdrReader, XdrWriter } from "./xdr";

/** virTypedParameterType. */
export const TypedParamType = {
  INT: 1,
  UINT: 2,
  LLONG: 3,
  ULLONG: 4,
  DOUBLE: 5,
  BOOLEAN: 6,
  STRING: 7,
} as const;

export interface TypedParam {
  field: string;
  /** `TypedParamType`. */
  type: number;
  value: number | bigint | boolean | string;
}

const byType: Record<number, Codec<number> | Codec<bigint> | Codec<boolean> | Codec<string>> = {
  [TypedParamType.INT]: int,
  [TypedParamType.UINT]: uint,
  [TypedParamType.LLONG]: hyper,
  [TypedParamType.ULLONG]: uhyper,
  [TypedParamType.DOUBLE]: double,
  [TypedParamType.BOOLEAN]: truth,
  [TypedParamType.STRING]: string,
};

/** A discriminated union (RFC 4506, section 4.15) behind the parameter's name. */
export const typedParam: Codec<TypedParam> = {
  minSize: 12,
  write(writer: XdrWriter, { field, type, value }: TypedParam) {
    string.write(writer, field);
    uint.write(writer, type);
    (codecOf(type) as Codec<TypedParam["value"]>).write(writer, value);
  },
  read(reader: XdrReader) {
    const field = string.read(reader);
    const type = uint.read(reader);
    return { field, type, value: codecOf(type).read(reader) };
  },
};

export const typedParams: Codec<TypedParam[]> = array(typedParam, 4096);

export function byName(params: TypedParam[]): TypedParams {
  return Object.fromEntries(params.map(({ field, value }) => [field, value]));
}

function codecOf(type: number) {
  const codec = byType[type];
  if (codec === undefined) throw new LibvirtProtocolError(`a typed parameter of the unknown type ${type}`);
  return codec;
}
