// Who may use the API.
import http from 'node:http'
import { check, inspect, must, testserver } from './lab.mjs'

// status sends a request with any headers, which fetch would not.
const status = (lab, path, headers = {}, method = 'GET') =>
  new Promise((resolve, reject) => {
    const request = http.request(new URL(path, lab.base), { method, headers }, (response) => {
      response.resume()
      resolve({ status: response.statusCode, headers: response.headers })
    })
    request.on('error', reject)
    request.end()
  })

check('guard: foreign Host 421, missing token 401, foreign Origin 403, no CORS', async () => {
  const lab = await inspect(['--', testserver, 'large'])
  const bearer = { Authorization: `Bearer ${lab.token}` }
  const is = async (expected, ...request) => {
    const got = await status(lab, ...request)
    must(got.status === expected, `${JSON.stringify(request)}: ${got.status}, expected ${expected}`)
    must(!Object.keys(got.headers).some((h) => h.startsWith('access-control')), 'CORS headers')
    return got
  }
  await is(200, '/api/state', bearer)
  await is(401, '/api/state')
  await is(401, '/api/state', { Authorization: 'Bearer ' + 'x'.repeat(43) })
  await is(421, '/api/state', { ...bearer, Host: 'attacker.example' })
  await is(421, '/', { Host: 'attacker.example' })
  await is(403, '/api/state', { ...bearer, Origin: 'https://attacker.example' })
  await is(403, '/api/state', { ...bearer, 'Sec-Fetch-Site': 'cross-site' })
  await is(403, '/api/call', { ...bearer, Origin: 'null' }, 'POST')
  // The origins of apps have no API, whatever they send.
  const { port } = new URL(lab.base)
  for (const name of ['app-0123456789abcdef', 'proxy-0123456789abcdef']) {
    await is(404, '/api/state', { ...bearer, Host: `${name}.localhost:${port}` })
    await is(404, '/', { Host: `${name}.localhost:${port}` })
  }
  const { headers } = await is(200, '/')
  const policy = headers['content-security-policy']
  for (const part of ["default-src 'none'", "script-src 'self'", "style-src 'self'", "require-trusted-types-for 'script'", "trusted-types 'none'", "frame-ancestors 'none'", "base-uri 'none'"]) {
    must(policy.includes(part), `${part} is missing in ${policy}`)
  }
  must(!/unsafe/.test(policy), policy)
  must(headers['cross-origin-opener-policy'] && headers['x-content-type-options'] === 'nosniff', JSON.stringify(headers))
  lab.stop()
})

check('guard: wrong tokens are refused', async () => {
  const lab = await inspect(['--', testserver, 'large'])
  let last
  for (let i = 0; i < 30; i++) last = await status(lab, '/api/state', { Authorization: `Bearer ${'y'.repeat(40)}${100 + i}` })
  must(last.status === 401, `status ${last.status}`)
  lab.stop()
})
