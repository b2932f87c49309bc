// SPDX-License-Identifier: Apache-2.0
// Where one is, as the link says it: #/page/argument?key=value. Every filter and sort is in the link.

export interface Route {
  page: string;
  argument: string;
  query: Record<string, string>;
}

export const decode = (text: string) => {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
};

export function parseRoute(hash: string): Route {
  const text = hash.replace(/^#?\/?/, '');
  const question = text.indexOf('?');
  const path = question < 0 ? text : text.slice(0, question);
  const slash = path.indexOf('/');
  const query: Record<string, string> = {};
  if (question >= 0) for (const [key, value] of new URLSearchParams(text.slice(question + 1))) query[key] = value;
  return {
    page: decode(slash < 0 ? path : path.slice(0, slash)),
    argument: slash < 0 ? '' : decode(path.slice(slash + 1)),
    query,
  };
}

/** A link within the page. Empty values are left out. */
export function link(page: string, argument = '', query: Record<string, string | undefined> = {}): string {
  const parameters = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) if (value) parameters.set(key, value);
  const text = parameters.toString();
  return `#/${page}${argument ? `/${encodeURIComponent(argument)}` : ''}${text ? `?${text}` : ''}`;
}

export const linkOf = (route: Route) => link(route.page, route.argument, route.query);

/** The link with some keys changed. */
export const changedLink = (route: Route, changes: Record<string, string | undefined>) =>
  link(route.page, route.argument, { ...route.query, ...changes });

/** Changes keys of the link. Typing replaces the entry of the browser's history, choosing adds one. */
export function changeQuery(route: Route, changes: Record<string, string | undefined>, replace = false): void {
  const target = changedLink(route, changes);
  if (replace) {
    history.replaceState(null, '', target);
    dispatchEvent(new HashChangeEvent('hashchange'));
  } else {
    location.hash = target;
  }
}
