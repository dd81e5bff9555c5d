// AWS Lambda with a function URL.

const lambdaEndpoint = remoteEndpoint;
