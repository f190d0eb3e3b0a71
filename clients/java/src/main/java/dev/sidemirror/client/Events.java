package dev.sidemirror.client;

import dev.sidemirror.v1.ResponseDrafted;
import dev.sidemirror.v1.ToolCalled;
import dev.sidemirror.v1.ToolFailed;
import dev.sidemirror.v1.ToolReturned;
import dev.sidemirror.v1.TurnEvent;
import dev.sidemirror.v1.UserMessage;

/**
 * The events that most agents report, in short; any other {@link TurnEvent} is made with its builder. Null is an empty text:
 * tools give it.
 */
public final class Events {
  private Events() {}

  /**
   * A tool was called.
   *
   * @param name the tool
   * @param arguments its arguments, as JSON or as any text
   * @return the event
   */
  public static TurnEvent toolCalled(String name, String arguments) {
    return TurnEvent.newBuilder()
        .setToolCalled(ToolCalled.newBuilder().setName(Texts.orEmpty(name)).setArguments(Texts.orEmpty(arguments)))
        .build();
  }

  /**
   * The last tool that was called returned.
   *
   * @param content what came back
   * @param isError whether the tool itself reports a failure
   * @return the event
   */
  public static TurnEvent toolReturned(String content, boolean isError) {
    return TurnEvent.newBuilder()
        .setToolReturned(ToolReturned.newBuilder().setContent(Texts.orEmpty(content)).setIsError(isError))
        .build();
  }

  /**
   * The last tool that was called returned, and is known to have worked, as by an exit status of 0: its text is never taken
   * for a failure. That nothing was thrown is not enough, since tools return texts of errors too.
   *
   * @param content what came back
   * @return the event
   */
  public static TurnEvent toolWorked(String content) {
    return TurnEvent.newBuilder()
        .setToolReturned(ToolReturned.newBuilder().setContent(Texts.orEmpty(content)).setHasWorked(true))
        .build();
  }

  /**
   * The last tool that was called has failed with an exception.
   *
   * @param thrown the exception, of which its name and message are the result
   * @return the event
   */
  public static TurnEvent toolReturned(Throwable thrown) {
    return toolReturned(Texts.of(thrown), true);
  }

  /**
   * The event as one of a call that overlaps with others. Without the call's id, what returns belongs to the last call that is
   * still open.
   *
   * @param callId the agent's id of the call, which its result repeats
   * @param event the event; one that is of no call stays as it is
   * @return the event with the id
   */
  public static TurnEvent ofCall(String callId, TurnEvent event) {
    TurnEvent.Builder builder = event.toBuilder();
    switch (event.getKindCase()) {
      case TOOL_CALLED -> builder.getToolCalledBuilder().setCallId(Texts.orEmpty(callId));
      case TOOL_RETURNED -> builder.getToolReturnedBuilder().setCallId(Texts.orEmpty(callId));
      case TOOL_FAILED -> builder.getToolFailedBuilder().setCallId(Texts.orEmpty(callId));
      default -> {}
    }
    return builder.build();
  }

  /**
   * The last tool that was called never returned.
   *
   * @param error why it failed
   * @return the event
   */
  public static TurnEvent toolFailed(String error) {
    return TurnEvent.newBuilder().setToolFailed(ToolFailed.newBuilder().setError(Texts.orEmpty(error))).build();
  }

  /**
   * The user said something.
   *
   * @param text what the user said
   * @return the event
   */
  public static TurnEvent userMessage(String text) {
    return TurnEvent.newBuilder().setUserMessage(UserMessage.newBuilder().setText(Texts.orEmpty(text))).build();
  }

  /**
   * A response is ready, and was not sent yet.
   *
   * @param text the response
   * @return the event
   */
  public static TurnEvent responseDrafted(String text) {
    return TurnEvent.newBuilder().setResponseDrafted(ResponseDrafted.newBuilder().setText(Texts.orEmpty(text))).build();
  }
}
