// SPDX-License-Identifier: Apache-2.0

/** Rows that lead to the same place are still different rows. */
export function distinctKeys(keys: string[]): string[] {
  const seen = new Map<string, number>();
  return keys.map((key) => {
    const before = seen.get(key) ?? 0;
    seen.set(key, before + 1);
    return before === 0 ? key : `${key} ${before + 1}`;
  });
}
