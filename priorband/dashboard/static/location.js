// Where the page is: #/STUDY/VIEW?filter=...&sort=... All that a reader may want to share or to come
// back to is in the address: the study, the view, the filter and each view's own options.

import { useEffect, useState } from "./preact.js";

/** The current place: { study, view, params }; the study is null on the list of studies. */
export function parseLocation(hash = globalThis.location.hash) {
  const [path, query = ""] = hash.replace(/^#\/?/, "").split("?");
  const [study, view, ...rest] = path.split("/").map(decode);
  const params = Object.fromEntries(new URLSearchParams(query));
  return { study: study || null, view: view || null, rest, params };
}

function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The hash of a place. */
export function hashOf({ study = null, view = null, rest = [], params = {} }) {
  const path = [study, view, ...rest].filter((part) => part !== null && part !== undefined);
  const kept = Object.entries(params).filter(([, value]) => value !== null && value !== undefined && value !== "");
  const query = new URLSearchParams(kept.map(([name, value]) => [name, String(value)])).toString();
  return `#/${path.map(encodeURIComponent).join("/")}${query ? `?${query}` : ""}`;
}

/** Go to a place. With `replace`, the back button skips the one before. */
export function navigate(place, replace = false) {
  const hash = hashOf(place);
  if (hash === globalThis.location.hash) return;
  if (replace) {
    history.replaceState(null, "", hash);
    globalThis.dispatchEvent(new HashChangeEvent("hashchange"));
  } else globalThis.location.hash = hash;
}

/** Change options of the current place; null removes one. */
export function setParams(changes, replace = true) {
  const place = parseLocation();
  navigate({ ...place, params: { ...place.params, ...changes } }, replace);
}

/** The current place, followed as it changes. */
export function useLocation() {
  const [place, setPlace] = useState(() => parseLocation());
  useEffect(() => {
    const follow = () => setPlace(parseLocation());
    globalThis.addEventListener("hashchange", follow);
    follow(); // the address may have changed since the first drawing
    return () => globalThis.removeEventListener("hashchange", follow);
  }, []);
  return place;
}
