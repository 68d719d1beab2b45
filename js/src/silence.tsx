// What is wrong between this page and the kernel, if anything.
import type { Decider } from "./decide";
import type { Life } from "./model";
import { Revealed } from "./text";
import { useUi } from "./ui";

export function Silence({ decider, life }: { decider: Decider; life: Life }) {
  const { say } = useUi();
  const words =
    decider.sending === "silent"
      ? say("kernel.sent")
      : decider.failure && decider.failure.errors.length === 0 // else they stand at their fields
        ? say("kernel.refused", { words: decider.failure.words })
        : life === "silent"
          ? say("kernel.silent")
          : null;
  if (words === null) return null;
  return (
    <p class="alert" role="alert">
      <Revealed text={words} />
    </p>
  );
}
