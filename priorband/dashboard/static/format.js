// Numbers and times for people. Columns use tabular numerals, so digits line up.

/** A value with enough digits to tell it from others: 0.10697, 1.2e-5, 12,480. */
export function number(value, digits = 4) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  if (Number.isInteger(value) && Math.abs(value) < 1e15) return whole(value);
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e6)) {
    return minus(value.toExponential(digits - 1).replace(/\.?0+e/, "e").replace("e+", "e"));
  }
  return minus(String(Number(value.toPrecision(digits))));
}

export function whole(value) {
  return minus(Math.round(value).toLocaleString("en-US"));
}

function minus(text) {
  return text.replace(/^-/, "−").replace("e-", "e−");
}

export function percent(share) {
  return `${Math.round(share * 100)} %`;
}

/** A duration: 12 s, 4 min, 3 h 20 min, 2 d 4 h. */
export function duration(seconds) {
  if (seconds === null || seconds === undefined || Number.isNaN(seconds)) return "–";
  if (seconds < 10 && !Number.isInteger(seconds)) return `${seconds.toFixed(seconds < 1 ? 2 : 1)} s`;
  if (seconds < 90) return `${Math.round(seconds)} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 90) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 36) return `${hours} h ${minutes % 60} min`;
  return `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

/** A moment, from ISO text or seconds since 1970, in the reader's own time. */
export function moment(at) {
  const date = typeof at === "number" ? new Date(at * 1000) : new Date(at);
  return Number.isNaN(date.getTime())
    ? "–"
    : date.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
}

/** The day of a moment: Nov 18, 2026. */
export function day(at) {
  return new Date(at).toLocaleDateString(undefined, { dateStyle: "medium" });
}

/** The time of day of a moment. */
export function clock(at) {
  return new Date(at).toLocaleTimeString(undefined, { timeStyle: "short" });
}

/** Text with its invisible and reordering characters made visible, on one line. */
export function visible(text) {
  return String(text).replace(
    /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202f\u2060-\u206f\ufeff]/g,
    (character) => `\\u${character.codePointAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** The first characters of a long text. */
export function cut(text, longest = 120) {
  return text.length <= longest ? text : `${text.slice(0, longest - 1)}…`;
}

/** A setting of a configuration. */
export function setting(value) {
  if (value === null || value === undefined) return "–";
  return typeof value === "number" ? number(value) : visible(typeof value === "string" ? value : JSON.stringify(value));
}

/** A size of a file: 412 B, 1.2 kB, 88 MB. */
export function bytes(size) {
  if (size === null || size === undefined) return "–";
  const units = ["B", "kB", "MB", "GB", "TB"];
  let unit = 0;
  let left = size;
  while (left >= 1000 && unit < units.length - 1) {
    left /= 1000;
    unit += 1;
  }
  return `${unit === 0 || left >= 10 ? Math.round(left) : left.toFixed(1)} ${units[unit]}`;
}
