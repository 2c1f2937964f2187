// The bar at the top: where you are, whether the page is live, the theme and the help.

import { html } from "./preact.js";
import { useSource } from "./store.js";
import { chooseTheme, chosenTheme, nextTheme, useTheme } from "./theme.js";
import { visible } from "./format.js";

const STATES = { live: "Live", lost: "Connection lost", opening: "Connecting", frozen: "Report" };
const ICONS = { auto: "◐", light: "☀", dark: "☾" };

export function TopBar({ study = null, state, onHelp }) {
  const source = useSource();
  useTheme();
  const theme = chosenTheme();
  const shown = source.live ? state : "frozen";
  return html`
    <header class="top">
      <a class="brand" href="#/" aria-label="priorband: all studies">
        <svg viewBox="0 0 16 16" width="16" height="16" aria-hidden="true"><path d="M1 14h3.6V10H1zm5.2 0h3.6V6H6.2zm5.2 0H15V2h-3.6z" fill="currentColor" /></svg>
        <span>priorband</span>
      </a>
      ${study && html`<span class="crumb" aria-hidden="true">/</span><h1 class="study-name" title=${study.where}><bdi>${visible(study.name)}</bdi></h1>`}
      <span class=${`live live-${shown}`} role="status"><i aria-hidden="true"></i>${STATES[shown]}</span>
      <span class="space"></span>
      <button class="quiet icon" aria-label=${`Theme: ${theme}. Switch to ${nextTheme()}.`} title="Theme (d)"
              onClick=${() => chooseTheme(nextTheme())}>${ICONS[theme]}</button>
      <button class="quiet icon" aria-label="Keys" title="Keys (?)" onClick=${onHelp}>?</button>
    </header>`;
}
