// SPDX-License-Identifier: Apache-2.0
import { useEffect, useState } from 'preact/hooks';

/** As the style sheet: there, rows of tables are cards. */
const narrow = matchMedia('(max-width: 640px)');

/** Whether the page is as narrow as on a phone. */
export function useNarrow(): boolean {
  const [now, setNow] = useState(narrow.matches);
  useEffect(() => {
    const change = () => setNow(narrow.matches);
    narrow.addEventListener('change', change);
    return () => narrow.removeEventListener('change', change);
  }, []);
  return now;
}
