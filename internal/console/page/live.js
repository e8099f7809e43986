// Brings a page up to date: <main data-live="MILLISECONDS">. The page is asked for again, and its main part exchanged. It waits while
// somebody works with what is shown: rows are selected, a field is written in, or text is marked.
"use strict"
const atWork = (shown) =>
  document.hidden || !getSelection().isCollapsed || document.querySelector("[popover]:popover-open") || shown.querySelector("input:checked") ||
  shown.contains(document.activeElement) && document.activeElement.matches("input, select, textarea") ||
  [...shown.querySelectorAll("input:not([type=checkbox]), textarea")].some((field) => field.value !== field.defaultValue)
const notice = (text, why = "") => {
  const fresh = document.querySelector("header .fresh"), toast = document.querySelector(".toast")
  if (fresh && text) fresh.textContent = text
  if (toast.textContent !== why) toast.textContent = why
}
// Answers that come of the server's or the brokers' absence: what is shown stays until there is a better one.
const absent = [429, 502, 503, 504]
async function ask(shown) {
  const answer = await fetch(location.href)
  if (answer.redirected) return location.reload() // the session has ended
  const page = new DOMParser().parseFromString(await answer.text(), "text/html")
  if (absent.includes(answer.status)) return notice("no answer at present", page.querySelector("[role=alert] p")?.textContent)
  notice("")
  const next = page.querySelector("main"), fresh = page.querySelector("header .fresh")
  if (!next || atWork(shown)) return
  if (fresh) document.querySelector("header .fresh")?.replaceWith(document.adoptNode(fresh))
  if (next.innerHTML === shown.innerHTML && next.dataset.live === shown.dataset.live) return
  const focus = document.activeElement
  const name = (e) => e.id || e.getAttribute("href") || e.getAttribute("aria-label")
  const held = shown.contains(focus) && focus.matches("a, button") && name(focus)
  shown.replaceWith(document.adoptNode(next))
  if (held) [...next.querySelectorAll("a, button")].find((e) => name(e) === held)?.focus({ preventScroll: true })
}
async function look() {
  const shown = document.querySelector("main[data-live]")
  if (!shown) return
  try {
    if (!atWork(shown)) await ask(shown)
  } catch {
    notice("the server does not answer")
  }
  setTimeout(look, Number(shown.dataset.live))
}
setTimeout(look, Number(document.querySelector("main[data-live]")?.dataset.live ?? 0))
