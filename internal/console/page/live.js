// Brings a page up to date while something on it moves: <main data-live>. The page is asked for again, and its main part exchanged.
"use strict"
const every = 1500
async function look() {
  const shown = document.querySelector("main[data-live]")
  if (!shown) return
  if (!document.hidden) {
    try {
      const answer = await fetch(location.href)
      const page = new DOMParser().parseFromString(await answer.text(), "text/html")
      const next = page.querySelector("main")
      if (next && next.innerHTML !== shown.innerHTML) {
        const focus = document.activeElement?.id
        shown.replaceWith(document.adoptNode(next))
        if (focus) document.getElementById(focus)?.focus()
      }
    } catch {
      // The server is away: what is shown stays, and says when it was read.
    }
  }
  setTimeout(look, every)
}
setTimeout(look, every)
