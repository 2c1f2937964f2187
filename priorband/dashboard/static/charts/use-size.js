// How wide an element is, followed as it changes.

import { useEffect, useLayoutEffect, useRef, useState } from "../preact.js";

/** The width of an element in pixels, which may appear later than the component; 0 before that. */
export function useWidth(reference) {
  const [width, setWidth] = useState(0);
  const followed = useRef({ element: null, observer: null });
  useLayoutEffect(() => {
    const element = reference.current;
    if (element === followed.current.element) return;
    followed.current.observer?.disconnect();
    followed.current = { element, observer: null };
    if (!element) return;
    const read = () => setWidth(Math.floor(element.clientWidth));
    followed.current.observer = new ResizeObserver(read);
    followed.current.observer.observe(element);
    read();
  });
  useEffect(() => () => followed.current.observer?.disconnect(), []);
  return width;
}
