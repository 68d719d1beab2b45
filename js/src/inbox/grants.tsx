// What runs without asking, who said so, and the end of it.
import { useCallback, useEffect, useState } from "preact/hooks";
import type { GrantDoc } from "../generated/messages";
import { Revealed } from "../text";
import { useUi } from "../ui";
import { clock } from "../words";

/** `version` grows with every change of the store. */
export function Grants({ version }: { version: number }) {
  const { say, port } = useUi();
  const [grants, setGrants] = useState<GrantDoc[] | null>(null);
  const [said, setSaid] = useState<string | null>(null);
  const load = useCallback(async () => {
    const answer = await port.ask({ type: "grants" }, () => setSaid(say("kernel.silent")));
    setSaid(answer.type === "error" ? say("kernel.refused", { words: answer.words }) : null);
    if (answer.type === "ack") setGrants(answer.grants);
  }, [port, say]);
  useEffect(() => {
    load();
  }, [load, version]);
  const revoke = async (grant: GrantDoc) => {
    const question = { type: "revoke", grant_id: grant.id } as const;
    const answer = await port.ask(question, () => setSaid(say("kernel.sent")));
    await load();
    setSaid(
      answer.type === "error"
        ? say("kernel.refused", { words: answer.words })
        : say("grants.revoked", { tool: grant.tool }),
    );
  };
  return (
    <>
      <p class="said" role="status">
        {said && <Revealed text={said} />}
      </p>
      {grants?.length === 0 && <p class="none">{say("grants.none")}</p>}
      <ul class="grants" aria-label={say("inbox.tab.grants")}>
        {grants?.map((grant) => (
          <Grant key={grant.id} grant={grant} revoke={() => revoke(grant)} />
        ))}
      </ul>
    </>
  );
}

function Grant({ grant, revoke }: { grant: GrantDoc; revoke: () => Promise<void> }) {
  const { say, locale } = useUi();
  const [sent, setSent] = useState(false);
  return (
    <li>
      <p class="rule">
        <Revealed text={grant.words} />
      </p>
      <p class="state">
        <Revealed text={say("grants.by", { reviewer: grant.reviewer })} />
        {grant.expires_at !== null &&
          ` · ${say("grants.until", { time: clock(grant.expires_at, locale) })}`}
        {grant.thread !== null && grant.reach === "thread" && (
          <>
            {" · "}
            <Revealed text={grant.thread} />
          </>
        )}
      </p>
      <button
        type="button"
        class="button small"
        disabled={sent}
        aria-label={say("grants.revoke.name", { tool: grant.tool })}
        onClick={() => {
          setSent(true);
          revoke().finally(() => setSent(false));
        }}
      >
        {say("grants.revoke")}
      </button>
    </li>
  );
}
