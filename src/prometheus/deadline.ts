/**
 * Waits for work, but not longer than a number of milliseconds; the work itself goes on.
 *
 * @param what - The subject of the error's message.
 * @throws Error when the time is over; whatever the work rejects with before.
 */
export async function withDeadline<Result>(
  work: Promise<Result>,
  millis: number,
  what: string,
): Promise<Result> {
  let timer: NodeJS.Timeout | undefined;
  const deadline = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} took longer than ${millis} ms`)), millis);
    timer.unref();
  });
  try {
    return await Promise.race([work, deadline]);
  } finally {
    clearTimeout(timer);
  }
}
