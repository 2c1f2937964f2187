// A live region for screen readers. One for the whole page: what is said last is read.

let region = null;

function made() {
  if (region === null) {
    region = document.createElement("div");
    region.className = "visually-hidden";
    region.setAttribute("role", "status");
    region.setAttribute("aria-live", "polite");
    document.body.append(region);
  }
  return region;
}

/** Say something to a reader who listens. */
export function announce(text) {
  const target = made();
  target.textContent = target.textContent === text ? `${text} ` : text;
}

made();
