// How wide an element is, followed as it changes.

import { useLayoutEffect, useState } from "../preact.js";

/** The width of an element in pixels; 0 before it is laid out. */
export function useWidth(reference) {
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const element = reference.current;
    if (!element) return undefined;
    const read = () => setWidth(Math.floor(element.clientWidth));
    const size = new ResizeObserver(read);
    size.observe(element);
    read();
    return () => size.disconnect();
  }, [reference.current]);
  return width;
}
