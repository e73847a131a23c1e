// The entry of the stand-in Studio: client-side routes, one of them in a chunk of its own.
import { element, show } from './dom.js'

const edition = '%VERSION%'
const routes = {
  '/': async () => show(element('h1', 'Studio ' + edition)),
  '/playground': async () => (await import('./playground.js')).open(edition),
}

async function route() {
  const page = routes[location.pathname] ?? (async () => show(element('h1', 'Page ' + location.pathname)))
  document.body.dataset.ready = ''
  try {
    await page()
    document.body.dataset.ready = location.pathname
  } catch (reason) {
    show(element('h1', 'This page could not be loaded: ' + reason.message))
    document.body.dataset.ready = 'failed'
  }
}

document.addEventListener('click', (event) => {
  const link = event.target.closest('a')
  if (!link || event.ctrlKey || event.metaKey) return
  event.preventDefault()
  history.pushState(null, '', link.getAttribute('href'))
  route()
})
addEventListener('popstate', route)

// An open page learns that another version is served by now when somebody comes back to it.
let etag
addEventListener('focus', async () => {
  const answer = await fetch('/studio/version', { headers: etag ? { 'If-None-Match': etag } : {} })
  if (answer.status === 304) return
  etag = answer.headers.get('ETag')
  const served = await answer.json()
  const news = document.getElementById('news')
  news.hidden = served.version === edition
  news.textContent = news.hidden ? '' : `Studio ${served.version} is here: reload this page`
  document.body.dataset.served = served.version
})

route()
