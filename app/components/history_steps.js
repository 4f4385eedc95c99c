// One step of the browser's history for each thing a person does: see `history_steps.py`.

const ACTIONS = ["pointerdown", "pointerup", "click", "keydown", "input"];

function watch() {
  const push = history.pushState.bind(history);
  const replace = history.replaceState.bind(history);
  // Whether somebody did something since the address last changed; on a busy machine that may be before this is loaded.
  let isAction = navigator.userActivation?.hasBeenActive ?? true;
  ACTIONS.forEach((name) => window.addEventListener(name, () => { isAction = true; }, true));
  window.addEventListener("popstate", () => { isAction = false; }, true);
  history.pushState = history.replaceState = (state, title, url) => {
    const isStep = isAction && new URL(url, location.href).href !== location.href;
    if (isStep) isAction = false;
    (isStep ? push : replace)(state, title, url);
  };
}

export default function () {
  if (!window.xcworkWatchesHistory) watch();
  window.xcworkWatchesHistory = true;
}
