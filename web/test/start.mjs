// Weight, requests and time until the page can be used.
import { gunzipSync } from 'node:zlib'
import http from 'node:http'
import { check, inspect, must, none, ready, testserver, visit, within } from './lab.mjs'

// fetchPacked returns the bytes of a path as they cross the connection.
const fetchPacked = (url) =>
  new Promise((resolve, reject) => {
    http.get(url, { headers: { 'Accept-Encoding': 'gzip' } }, (response) => {
      const parts = []
      response.on('data', (part) => parts.push(part))
      response.on('end', () => resolve({ headers: response.headers, body: Buffer.concat(parts) }))
    }).on('error', reject)
  })

check('weight: the page has at most 56 KB compressed, 83 KB in all, and asks for no font or image', async () => {
  const lab = await inspect(['--', testserver, 'large'])
  const { page, requests, clean, close } = await visit(lab)
  await ready(page)
  const atFirst = requests.filter((r) => !r.includes('/api/') && !r.startsWith('data:') && !r.endsWith('/more.js'))
  await page.keyboard.press('g')
  await page.keyboard.press('f')
  await page.locator('[data-list=traffic]').waitFor()
  let weight = 0
  let later = 0
  for (const url of new Set(requests.filter((r) => !r.includes('/api/') && !r.startsWith('data:')))) {
    const { headers, body } = await fetchPacked(url)
    if (atFirst.includes(url)) weight += body.length
    else later += body.length
    must(headers['content-encoding'] === 'gzip' ? gunzipSync(body).length > 0 : body.length < 2000 || url.endsWith('/'), `${url} is not compressed`)
    must(/html|javascript|css/.test(headers['content-type']), `${url} is ${headers['content-type']}`)
  }
  must(weight <= 56_000, `${weight} bytes`)
  must(weight + later <= 83_000, `${weight + later} bytes in all`)
  must(atFirst.length <= 3, `files: ${atFirst.join(', ')}`)
  none(await clean())
  await close()
  lab.stop()
  return `${weight} bytes at first, ${weight + later} in all`
})

check('requests: the lists are drawn after 4 requests', async () => {
  const lab = await inspect(['--', testserver, 'large'])
  let release
  const held = new Promise((resolve) => (release = resolve))
  // The other rooms are loaded afterwards. Their file is held back, so that what is drawn does not need it.
  const hold = (page) => page.route('**/more.js', (route) => held.then(() => route.continue()))
  const { page, requests, clean, close } = await visit(lab, { path: 't', prepare: hold })
  await ready(page)
  await page.locator('[data-list=tools] .row').first().waitFor()
  const seen = requests.filter((r) => !r.startsWith('data:')).map((r) => r.slice(lab.base.length).replace(/\?.*/, ''))
  const needed = seen.filter((r) => r !== 'more.js')
  // Afterwards, the arguments of the chosen tool are checked.
  must(needed.slice(0, 4).join(' ') === 't app.css app.js api/stream', seen.join(' '))
  must(needed.slice(4).every((r) => r === 'api/check'), seen.join(' '))
  release()
  none(await clean())
  await close()
  lab.stop()
  return seen.join(' ')
})

check('first byte and first paint', async () => {
  const times = []
  const paints = []
  for (let i = 0; i < 3; i++) {
    const lab = await inspect(['--', testserver, 'large'])
    await fetchPacked(lab.base)
    times.push(performance.now() - lab.started)
    const { page, close } = await visit(lab)
    const paint = await page.waitForFunction(() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime)
    paints.push(await paint.jsonValue())
    await close()
    lab.stop()
  }
  const [byte, paint] = [Math.min(...times), Math.min(...paints)]
  within('first byte', byte, 50)
  within('first contentful paint', paint, 150)
  must(byte < 500, `first byte after ${byte} ms`)
  must(paint < 1000, `first paint after ${paint} ms`)
  return `first byte after ${byte.toFixed(0)} ms, first paint after ${paint.toFixed(0)} ms`
}, { alone: true })

check('the address loses its token, and a reload keeps it', async () => {
  const lab = await inspect(['--', testserver, 'large'])
  const { page, clean, close } = await visit(lab)
  await ready(page)
  must(!page.url().includes('#'), page.url())
  await page.reload()
  await ready(page)
  const kept = await page.evaluate(() => ({ local: Object.keys(localStorage), cookie: document.cookie }))
  must(kept.local.every((k) => k === 'slipway-inspect') && kept.cookie === '', JSON.stringify(kept))
  none(await clean())
  await close()
  lab.stop()
})
