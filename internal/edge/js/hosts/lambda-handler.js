/** Answers an event of the payload format 2.0. */
export const handler = async (event) => {
  const { method } = event.requestContext.http;
  const hasBody = method !== 'GET' && method !== 'HEAD' && event.body !== undefined;
  const request = new Request(`https://${event.requestContext.domainName ?? 'localhost'}${event.rawPath}`, {
    method,
    headers: event.headers,
    ...(hasBody && { body: event.isBase64Encoded ? Buffer.from(event.body, 'base64') : event.body }),
  });
  const response = await lambdaEndpoint(request);
  return { statusCode: response.status, headers: Object.fromEntries(response.headers), body: await response.text() };
};
