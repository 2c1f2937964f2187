// The application: the list of studies, or one study with its views.

import { html, render, useEffect, useErrorBoundary, useState } from "./preact.js";
import { navigate, useLocation } from "./location.js";
import { useKeys } from "./keys.js";
import { SourceContext, useSource } from "./store.js";
import { chooseTheme, chosenTheme, nextTheme, useTheme } from "./theme.js";
import { announce } from "./announce.js";
import { HelpDialog } from "./help-dialog.js";
import { StudyList } from "./study-list.js";
import { StudyPage } from "./study-page.js";

/** Start the page with a source of data. */
export async function start(source, root) {
  try {
    await source.open();
  } catch (error) {
    render(html`<main class="page"><p class="error" role="alert">${error.message}</p></main>`, root);
    return;
  }
  render(html`<${SourceContext.Provider} value=${source}><${App} /><//>`, root);
}

function App() {
  const place = useLocation();
  const source = useSource();
  const [help, setHelp] = useState(false);
  const [broken] = useErrorBoundary((error) => console.error(error));
  useTheme();
  useKeys([
    { key: "?", label: "Show the keys", group: "Everywhere", run: () => setHelp(true) },
    { key: "d", label: "Switch between light, dark and the system's theme", group: "Everywhere", run: switchTheme },
    ...(source.single ? [] : [{ key: "g s", label: "Go to the list of studies", group: "Everywhere", run: () => navigate({}) }]),
  ]);
  useEffect(() => {
    if (place.study === null && source.single) navigate({ study: source.single }, true);
  }, [place.study]);
  if (broken) {
    return html`<main class="page"><p class="error" role="alert">
      Something went wrong while drawing the page: ${broken.message}. <a href="#/">Back to the studies</a></p></main>`;
  }
  return html`
    <a class="skip" href="#main" onClick=${skipToMain}>Skip to the content</a>
    ${place.study === null
      ? html`<${StudyList} onHelp=${() => setHelp(true)} />`
      : html`<${StudyPage} key=${place.study} place=${place} onHelp=${() => setHelp(true)} />`}
    ${help && html`<${HelpDialog} onClose=${() => setHelp(false)} />`}`;
}

function skipToMain(event) {
  event.preventDefault();
  document.querySelector("main")?.focus();
}

function switchTheme() {
  chooseTheme(nextTheme());
  announce(`Theme: ${chosenTheme()}`);
}
