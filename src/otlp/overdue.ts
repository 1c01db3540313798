/**
 * Waits for work, but not longer than a number of milliseconds. The timer holds the process: whoever waits is to get
 * an answer.
 *
 * @returns Whether the time was over first; the work goes on then.
 * @throws Whatever the work rejects with in time.
 */
export async function overdue(work: Promise<void>, millis: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const deadline = new Promise<true>((resolve) => {
    timer = setTimeout(resolve, millis, true);
  });
  try {
    return (await Promise.race([work, deadline])) === true;
  } finally {
    clearTimeout(timer);
  }
}
