// SPDX-License-Identifier: Apache-2.0
// The colours of hardware outside of charts: those of the charts (src/show/chart/palette.cpp), which stand in the
// document.
import type { Themes } from './document.ts';

const sheet = new CSSStyleSheet();
document.adoptedStyleSheets = [sheet];

/** `--c` of the class `hw-NAME` becomes the colour NAME; light on paper. */
export function setColours({ light, dark }: Themes) {
  const rules = (tokens: Record<string, string>, root: string) =>
    Object.entries(tokens)
      .map(([name, colour]) => `${root}.hw-${name} { --c: ${colour}; }`)
      .join('\n');
  sheet.replaceSync(`${rules(light, '')}
@media screen and (prefers-color-scheme: dark) { ${rules(dark, ":root:not([data-theme='light']) ")} }
@media screen { ${rules(dark, ":root[data-theme='dark'] ")} }`);
}
