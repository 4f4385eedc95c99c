// The button of `copy_link.py`.

const NORMAL = "Copy link";
const SHOWN = 2000; // milliseconds for which the button says what became of it

async function copy(text) {
  if (navigator.clipboard) {
    await navigator.clipboard.writeText(text);
    return true;
  }
  // Without a secure connection there is no clipboard to write to, but a selection can be copied.
  const field = make("textarea");
  field.value = text;
  document.body.append(field);
  field.select();
  const isCopied = document.execCommand("copy");
  field.remove();
  return isCopied;
}

export default function ({ data, parentElement }) {
  let button = parentElement.querySelector("button");
  if (!button) {
    button = make("button");
    const icon = make("span", "icon", "link");
    icon.setAttribute("aria-hidden", "true");
    const words = make("span", "words", NORMAL);
    words.setAttribute("aria-live", "polite");
    button.append(icon, words);
    const frame = makeFrame(data);
    frame.append(button);
    parentElement.append(frame);
  }
  button.onclick = async () => {
    const isCopied = await copy(window.location.href).catch(() => false);
    const words = button.querySelector(".words");
    words.textContent = isCopied ? "Copied" : "Copy it from the address bar";
    setTimeout(() => {
      words.textContent = NORMAL;
    }, SHOWN);
  };
}
