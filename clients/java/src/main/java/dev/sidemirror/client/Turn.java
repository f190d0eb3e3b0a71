package dev.sidemirror.client;

/**
 * The name that {@link AgentTurn} had. It clashes with the contract's {@code Turn} where both packages are imported.
 *
 * @deprecated say {@link AgentTurn}, or {@code var}
 */
@Deprecated(since = "0.1.0")
public final class Turn extends AgentTurn {
  Turn(Link link, Losses losses, String id, String agent, String task) {
    super(link, losses, id, agent, task);
  }
}
