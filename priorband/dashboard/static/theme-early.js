// Runs before the first paint, so that a chosen theme does not flash. It has no imports on purpose.
try {
  const chosen = localStorage.getItem("priorband-theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
} catch {
  // no storage, as in a private window: the system's theme is used
}
