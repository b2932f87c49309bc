// SPDX-License-Identifier: Apache-2.0
// Types of rows.js, as far as the page uses it.
export const STYLE: { hollow: number; hatched: number; bold: number; ringed: number; unranked: number };
