// Everything that waits in a store.
import { Card } from "./card";
import type { RequestView } from "./generated/messages";
import { useUi } from "./ui";

export function Inbox({ requests }: { requests: RequestView[] }) {
  const { say } = useUi();
  const waiting = requests.filter((view) => view.state === "pending").length;
  return (
    <section class="inbox" aria-label={say("inbox.name")}>
      <p class="state" role="status">
        {waiting === 0 ? say("inbox.empty") : say("inbox.count", { n: waiting })}
      </p>
      {requests.map((view) => (
        <Card key={view.id} view={view} />
      ))}
    </section>
  );
}
