// Buttons that copy the text of another element, named by data-copy.

import { byId, setText } from './dom.js'
import { texts } from './texts.js'

const shownFor = 1500 // ms that a button says what became of the click

export function enableCopying(root) {
  for (const button of root.querySelectorAll('button[data-copy]')) {
    let timer
    button.textContent = texts.copy
    button.addEventListener('click', async () => {
      const done = await copy(byId(button.dataset.copy))
      setText(button, done ? texts.copied : texts.notCopied)
      clearTimeout(timer)
      timer = setTimeout(() => setText(button, texts.copy), shownFor)
    })
  }
}

async function copy(node) {
  try {
    await navigator.clipboard.writeText(node.textContent)
    return true
  } catch {
    // Browsers keep the clipboard from pages that were reached by a plain name over HTTP, and from those the user
    // refused it. The old command may still work; if not, the text stays selected, one key away.
    getSelection().selectAllChildren(node)
    return document.execCommand('copy')
  }
}
