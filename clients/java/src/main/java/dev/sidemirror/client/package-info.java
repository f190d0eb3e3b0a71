/**
 * Sidemirror for Java: an agent's turns reported without waiting, and typed stubs for everything else.
 *
 * <pre>{@code
 * try (Sidemirror sidemirror = Sidemirror.connect(); AgentTurn turn = sidemirror.beginTurn(started)) {
 *   turn.report(Events.toolCalled("search", "{\"to\": \"LIS\"}"));
 *   String forTheModel = Sidemirror.adviceText(turn.advice());
 *   turn.finish(TaskOutcome.TASK_OUTCOME_SUCCESS);
 * }
 * }</pre>
 *
 * <p>A turn is reported beside the agent: nothing of it waits for the sidecar or fails
 * because the sidecar is away. For everything else {@link dev.sidemirror.client.Sidemirror} holds the stubs of the
 * contract (package {@code dev.sidemirror.v1}), whose calls get a deadline, are tried again when the sidecar is away, and
 * carry the token, the scope and a {@code request_id} where the call says nothing else.
 */
package dev.sidemirror.client;
