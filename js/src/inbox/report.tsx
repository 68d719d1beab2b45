// What became of each of several decisions that were made together.
import { short } from "../fingerprint";
import type { OutcomeDoc } from "../generated/messages";
import { Revealed } from "../text";
import { useUi } from "../ui";

export function Report({ outcomes }: { outcomes: OutcomeDoc[] }) {
  const { say } = useUi();
  const went = outcomes.filter((outcome) => outcome.state !== null).length;
  const lost = outcomes.length - went;
  // Once for each agent, not once for each call.
  const idle = new Set(
    outcomes.flatMap(({ idle, agent }) => (idle ? say(`idle.${idle}`, { agent }) : [])),
  );
  return (
    <div class="report">
      <p role="status">
        {outcomes.length > 0 &&
          (lost > 0
            ? say("batch.report.lost", { n: went, lost })
            : say("batch.report", { n: went }))}
      </p>
      {[...idle].map((words) => (
        <p key={words} class="why warn">
          <Revealed text={words} />
        </p>
      ))}
      {outcomes.length > 0 && (
        <ul aria-label={say("batch.report.name")}>
          {outcomes.map((outcome) => (
            <li key={outcome.request_id}>
              <span class={outcome.state === null ? "caution" : "tick"} aria-hidden="true">
                {outcome.state === null ? "!" : "✓"}
              </span>
              <code>
                <Revealed text={outcome.tool} />
              </code>
              <code title={outcome.fingerprint}>{short(outcome.fingerprint)}</code>
              <span>
                {outcome.state === null ? (
                  <Revealed text={outcome.words ?? ""} />
                ) : (
                  say(`state.${outcome.state}`)
                )}
              </span>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
