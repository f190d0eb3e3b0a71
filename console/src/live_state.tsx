/** Whether the page follows what happens, and what it has missed. */
import type { Live } from "./live.js";
import { seen } from "./words.js";

const TOLD: Record<Live["state"], string> = {
  off: "",
  connecting: "Connecting",
  live: "Live",
  lost: "The connection is lost; trying again. What happens meanwhile will be read then.",
  unseen: "Not live while nobody sees this page.",
  refused: "Not live: the sidecar refuses the watch.",
};

export function LiveState(props: { live: Live }) {
  const { state, gaps } = props.live;
  return (
    <div class="live-state">
      <p role="status" class={`follows ${state}`}>
        {TOLD[state]}
      </p>
      {gaps.map((gap, index) => (
        <p key={index} class="notice warn" role="alert">
          There is a gap: {seen(gap)}
        </p>
      ))}
    </div>
  );
}
