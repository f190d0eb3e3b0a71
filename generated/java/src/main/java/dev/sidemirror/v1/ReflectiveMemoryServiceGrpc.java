package dev.sidemirror.v1;

import static io.grpc.MethodDescriptor.generateFullMethodName;

/**
 * <pre>
 * What did this teach, and what was learned that fits here?
 * A reflection says what happened and why, a strategy what to do next time. Both are kept for good, found again by what
 * they say and where they apply, and carry how far their text can be trusted. Texts that try to steer whoever reads them
 * are kept in quarantine, and are not recalled unless a person lets them out.
 * Other than elsewhere, GenerateReflection fails when no model answers: UNAVAILABLE, DEADLINE_EXCEEDED or
 * RESOURCE_EXHAUSTED, with an ErrorInfo. With REFLECTIVE_MEMORY_ENABLED=false every call is FAILED_PRECONDITION.
 * </pre>
 */
@io.grpc.stub.annotations.GrpcGenerated
public final class ReflectiveMemoryServiceGrpc {

  private ReflectiveMemoryServiceGrpc() {}

  public static final java.lang.String SERVICE_NAME = "sidemirror.v1.ReflectiveMemoryService";

  // Static method descriptors that strictly reflect the proto.
  private static volatile io.grpc.MethodDescriptor<dev.sidemirror.v1.GenerateReflectionRequest,
      dev.sidemirror.v1.GenerateReflectionResponse> getGenerateReflectionMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "GenerateReflection",
      requestType = dev.sidemirror.v1.GenerateReflectionRequest.class,
      responseType = dev.sidemirror.v1.GenerateReflectionResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.sidemirror.v1.GenerateReflectionRequest,
      dev.sidemirror.v1.GenerateReflectionResponse> getGenerateReflectionMethod() {
    io.grpc.MethodDescriptor<dev.sidemirror.v1.GenerateReflectionRequest, dev.sidemirror.v1.GenerateReflectionResponse> getGenerateReflectionMethod;
    if ((getGenerateReflectionMethod = ReflectiveMemoryServiceGrpc.getGenerateReflectionMethod) == null) {
      synchronized (ReflectiveMemoryServiceGrpc.class) {
        if ((getGenerateReflectionMethod = ReflectiveMemoryServiceGrpc.getGenerateReflectionMethod) == null) {
          ReflectiveMemoryServiceGrpc.getGenerateReflectionMethod = getGenerateReflectionMethod =
              io.grpc.MethodDescriptor.<dev.sidemirror.v1.GenerateReflectionRequest, dev.sidemirror.v1.GenerateReflectionResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "GenerateReflection"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sidemirror.v1.GenerateReflectionRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sidemirror.v1.GenerateReflectionResponse.getDefaultInstance()))
              .setSchemaDescriptor(new ReflectiveMemoryServiceMethodDescriptorSupplier("GenerateReflection"))
              .build();
        }
      }
    }
    return getGenerateReflectionMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.sidemirror.v1.StoreReflectionRequest,
      dev.sidemirror.v1.StoreReflectionResponse> getStoreReflectionMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "StoreReflection",
      requestType = dev.sidemirror.v1.StoreReflectionRequest.class,
      responseType = dev.sidemirror.v1.StoreReflectionResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.sidemirror.v1.StoreReflectionRequest,
      dev.sidemirror.v1.StoreReflectionResponse> getStoreReflectionMethod() {
    io.grpc.MethodDescriptor<dev.sidemirror.v1.StoreReflectionRequest, dev.sidemirror.v1.StoreReflectionResponse> getStoreReflectionMethod;
    if ((getStoreReflectionMethod = ReflectiveMemoryServiceGrpc.getStoreReflectionMethod) == null) {
      synchronized (ReflectiveMemoryServiceGrpc.class) {
        if ((getStoreReflectionMethod = ReflectiveMemoryServiceGrpc.getStoreReflectionMethod) == null) {
          ReflectiveMemoryServiceGrpc.getStoreReflectionMethod = getStoreReflectionMethod =
              io.grpc.MethodDescriptor.<dev.sidemirror.v1.StoreReflectionRequest, dev.sidemirror.v1.StoreReflectionResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "StoreReflection"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sidemirror.v1.StoreReflectionRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sidemirror.v1.StoreReflectionResponse.getDefaultInstance()))
              .setSchemaDescriptor(new ReflectiveMemoryServiceMethodDescriptorSupplier("StoreReflection"))
              .build();
        }
      }
    }
    return getStoreReflectionMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.sidemirror.v1.GetReflectionRequest,
      dev.sidemirror.v1.GetReflectionResponse> getGetReflectionMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "GetReflection",
      requestType = dev.sidemirror.v1.GetReflectionRequest.class,
      responseType = dev.sidemirror.v1.GetReflectionResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.sidemirror.v1.GetReflectionRequest,
      dev.sidemirror.v1.GetReflectionResponse> getGetReflectionMethod() {
    io.grpc.MethodDescriptor<dev.sidemirror.v1.GetReflectionRequest, dev.sidemirror.v1.GetReflectionResponse> getGetReflectionMethod;
    if ((getGetReflectionMethod = ReflectiveMemoryServiceGrpc.getGetReflectionMethod) == null) {
      synchronized (ReflectiveMemoryServiceGrpc.class) {
        if ((getGetReflectionMethod = ReflectiveMemoryServiceGrpc.getGetReflectionMethod) == null) {
          ReflectiveMemoryServiceGrpc.getGetReflectionMethod = getGetReflectionMethod =
              io.grpc.MethodDescriptor.<dev.sidemirror.v1.GetReflectionRequest, dev.sidemirror.v1.GetReflectionResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "GetReflection"))
              .setSafe(true)
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sidemirror.v1.GetReflectionRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sidemirror.v1.GetReflectionResponse.getDefaultInstance()))
              .setSchemaDescriptor(new ReflectiveMemoryServiceMethodDescriptorSupplier("GetReflection"))
              .build();
        }
      }
    }
    return getGetReflectionMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.sidemirror.v1.ListReflectionsRequest,
      dev.sidemirror.v1.ListReflectionsResponse> getListReflectionsMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ListReflections",
      requestType = dev.sidemirror.v1.ListReflectionsRequest.class,
      responseType = dev.sidemirror.v1.ListReflectionsResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.sidemirror.v1.ListReflectionsRequest,
      dev.sidemirror.v1.ListReflectionsResponse> getListReflectionsMethod() {
    io.grpc.MethodDescriptor<dev.sidemirror.v1.ListReflectionsRequest, dev.sidemirror.v1.ListReflectionsResponse> getListReflectionsMethod;
    if ((getListReflectionsMethod = ReflectiveMemoryServiceGrpc.getListReflectionsMethod) == null) {
      synchronized (ReflectiveMemoryServiceGrpc.class) {
        if ((getListReflectionsMethod = ReflectiveMemoryServiceGrpc.getListReflectionsMethod) == null) {
          ReflectiveMemoryServiceGrpc.getListReflectionsMethod = getListReflectionsMethod =
              io.grpc.MethodDescriptor.<dev.sidemirror.v1.ListReflectionsRequest, dev.sidemirror.v1.ListReflectionsResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ListReflections"))
              .setSafe(true)
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sidemirror.v1.ListReflectionsRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sidemirror.v1.ListReflectionsResponse.getDefaultInstance()))
              .setSchemaDescriptor(new ReflectiveMemoryServiceMethodDescriptorSupplier("ListReflections"))
              .build();
        }
      }
    }
    return getListReflectionsMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.sidemirror.v1.UpdateReflectionRequest,
      dev.sidemirror.v1.UpdateReflectionResponse> getUpdateReflectionMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "UpdateReflection",
      requestType = dev.sidemirror.v1.UpdateReflectionRequest.class,
      responseType = dev.sidemirror.v1.UpdateReflectionResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.sidemirror.v1.UpdateReflectionRequest,
      dev.sidemirror.v1.UpdateReflectionResponse> getUpdateReflectionMethod() {
    io.grpc.MethodDescriptor<dev.sidemirror.v1.UpdateReflectionRequest, dev.sidemirror.v1.UpdateReflectionResponse> getUpdateReflectionMethod;
    if ((getUpdateReflectionMethod = ReflectiveMemoryServiceGrpc.getUpdateReflectionMethod) == null) {
      synchronized (ReflectiveMemoryServiceGrpc.class) {
        if ((getUpdateReflectionMethod = ReflectiveMemoryServiceGrpc.getUpdateReflectionMethod) == null) {
          ReflectiveMemoryServiceGrpc.getUpdateReflectionMethod = getUpdateReflectionMethod =
              io.grpc.MethodDescriptor.<dev.sidemirror.v1.UpdateReflectionRequest, dev.sidemirror.v1.UpdateReflectionResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "UpdateReflection"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sidemirror.v1.UpdateReflectionRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sidemirror.v1.UpdateReflectionResponse.getDefaultInstance()))
              .setSchemaDescriptor(new ReflectiveMemoryServiceMethodDescriptorSupplier("UpdateReflection"))
              .build();
        }
      }
    }
    return getUpdateReflectionMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.sidemirror.v1.DeleteReflectionRequest,
      dev.sidemirror.v1.DeleteReflectionResponse> getDeleteReflectionMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "DeleteReflection",
      requestType = dev.sidemirror.v1.DeleteReflectionRequest.class,
      responseType = dev.sidemirror.v1.DeleteReflectionResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.sidemirror.v1.DeleteReflectionRequest,
      dev.sidemirror.v1.DeleteReflectionResponse> getDeleteReflectionMethod() {
    io.grpc.MethodDescriptor<dev.sidemirror.v1.DeleteReflectionRequest, dev.sidemirror.v1.DeleteReflectionResponse> getDeleteReflectionMethod;
    if ((getDeleteReflectionMethod = ReflectiveMemoryServiceGrpc.getDeleteReflectionMethod) == null) {
      synchronized (ReflectiveMemoryServiceGrpc.class) {
        if ((getDeleteReflectionMethod = ReflectiveMemoryServiceGrpc.getDeleteReflectionMethod) == null) {
          ReflectiveMemoryServiceGrpc.getDeleteReflectionMethod = getDeleteReflectionMethod =
              io.grpc.MethodDescriptor.<dev.sidemirror.v1.DeleteReflectionRequest, dev.sidemirror.v1.DeleteReflectionResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "DeleteReflection"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sidemirror.v1.DeleteReflectionRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sidemirror.v1.DeleteReflectionResponse.getDefaultInstance()))
              .setSchemaDescriptor(new ReflectiveMemoryServiceMethodDescriptorSupplier("DeleteReflection"))
              .build();
        }
      }
    }
    return getDeleteReflectionMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.sidemirror.v1.ListReflectionVersionsRequest,
      dev.sidemirror.v1.ListReflectionVersionsResponse> getListReflectionVersionsMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ListReflectionVersions",
      requestType = dev.sidemirror.v1.ListReflectionVersionsRequest.class,
      responseType = dev.sidemirror.v1.ListReflectionVersionsResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.sidemirror.v1.ListReflectionVersionsRequest,
      dev.sidemirror.v1.ListReflectionVersionsResponse> getListReflectionVersionsMethod() {
    io.grpc.MethodDescriptor<dev.sidemirror.v1.ListReflectionVersionsRequest, dev.sidemirror.v1.ListReflectionVersionsResponse> getListReflectionVersionsMethod;
    if ((getListReflectionVersionsMethod = ReflectiveMemoryServiceGrpc.getListReflectionVersionsMethod) == null) {
      synchronized (ReflectiveMemoryServiceGrpc.class) {
        if ((getListReflectionVersionsMethod = ReflectiveMemoryServiceGrpc.getListReflectionVersionsMethod) == null) {
          ReflectiveMemoryServiceGrpc.getListReflectionVersionsMethod = getListReflectionVersionsMethod =
              io.grpc.MethodDescriptor.<dev.sidemirror.v1.ListReflectionVersionsRequest, dev.sidemirror.v1.ListReflectionVersionsResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ListReflectionVersions"))
              .setSafe(true)
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sidemirror.v1.ListReflectionVersionsRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sidemirror.v1.ListReflectionVersionsResponse.getDefaultInstance()))
              .setSchemaDescriptor(new ReflectiveMemoryServiceMethodDescriptorSupplier("ListReflectionVersions"))
              .build();
        }
      }
    }
    return getListReflectionVersionsMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.sidemirror.v1.ReviewReflectionRequest,
      dev.sidemirror.v1.ReviewReflectionResponse> getReviewReflectionMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ReviewReflection",
      requestType = dev.sidemirror.v1.ReviewReflectionRequest.class,
      responseType = dev.sidemirror.v1.ReviewReflectionResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.sidemirror.v1.ReviewReflectionRequest,
      dev.sidemirror.v1.ReviewReflectionResponse> getReviewReflectionMethod() {
    io.grpc.MethodDescriptor<dev.sidemirror.v1.ReviewReflectionRequest, dev.sidemirror.v1.ReviewReflectionResponse> getReviewReflectionMethod;
    if ((getReviewReflectionMethod = ReflectiveMemoryServiceGrpc.getReviewReflectionMethod) == null) {
      synchronized (ReflectiveMemoryServiceGrpc.class) {
        if ((getReviewReflectionMethod = ReflectiveMemoryServiceGrpc.getReviewReflectionMethod) == null) {
          ReflectiveMemoryServiceGrpc.getReviewReflectionMethod = getReviewReflectionMethod =
              io.grpc.MethodDescriptor.<dev.sidemirror.v1.ReviewReflectionRequest, dev.sidemirror.v1.ReviewReflectionResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ReviewReflection"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sidemirror.v1.ReviewReflectionRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sidemirror.v1.ReviewReflectionResponse.getDefaultInstance()))
              .setSchemaDescriptor(new ReflectiveMemoryServiceMethodDescriptorSupplier("ReviewReflection"))
              .build();
        }
      }
    }
    return getReviewReflectionMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.sidemirror.v1.QueryReflectionsRequest,
      dev.sidemirror.v1.QueryReflectionsResponse> getQueryReflectionsMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "QueryReflections",
      requestType = dev.sidemirror.v1.QueryReflectionsRequest.class,
      responseType = dev.sidemirror.v1.QueryReflectionsResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.sidemirror.v1.QueryReflectionsRequest,
      dev.sidemirror.v1.QueryReflectionsResponse> getQueryReflectionsMethod() {
    io.grpc.MethodDescriptor<dev.sidemirror.v1.QueryReflectionsRequest, dev.sidemirror.v1.QueryReflectionsResponse> getQueryReflectionsMethod;
    if ((getQueryReflectionsMethod = ReflectiveMemoryServiceGrpc.getQueryReflectionsMethod) == null) {
      synchronized (ReflectiveMemoryServiceGrpc.class) {
        if ((getQueryReflectionsMethod = ReflectiveMemoryServiceGrpc.getQueryReflectionsMethod) == null) {
          ReflectiveMemoryServiceGrpc.getQueryReflectionsMethod = getQueryReflectionsMethod =
              io.grpc.MethodDescriptor.<dev.sidemirror.v1.QueryReflectionsRequest, dev.sidemirror.v1.QueryReflectionsResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "QueryReflections"))
              .setSafe(true)
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sidemirror.v1.QueryReflectionsRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sidemirror.v1.QueryReflectionsResponse.getDefaultInstance()))
              .setSchemaDescriptor(new ReflectiveMemoryServiceMethodDescriptorSupplier("QueryReflections"))
              .build();
        }
      }
    }
    return getQueryReflectionsMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.sidemirror.v1.BuildMemoryContextRequest,
      dev.sidemirror.v1.BuildMemoryContextResponse> getBuildMemoryContextMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "BuildMemoryContext",
      requestType = dev.sidemirror.v1.BuildMemoryContextRequest.class,
      responseType = dev.sidemirror.v1.BuildMemoryContextResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.sidemirror.v1.BuildMemoryContextRequest,
      dev.sidemirror.v1.BuildMemoryContextResponse> getBuildMemoryContextMethod() {
    io.grpc.MethodDescriptor<dev.sidemirror.v1.BuildMemoryContextRequest, dev.sidemirror.v1.BuildMemoryContextResponse> getBuildMemoryContextMethod;
    if ((getBuildMemoryContextMethod = ReflectiveMemoryServiceGrpc.getBuildMemoryContextMethod) == null) {
      synchronized (ReflectiveMemoryServiceGrpc.class) {
        if ((getBuildMemoryContextMethod = ReflectiveMemoryServiceGrpc.getBuildMemoryContextMethod) == null) {
          ReflectiveMemoryServiceGrpc.getBuildMemoryContextMethod = getBuildMemoryContextMethod =
              io.grpc.MethodDescriptor.<dev.sidemirror.v1.BuildMemoryContextRequest, dev.sidemirror.v1.BuildMemoryContextResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "BuildMemoryContext"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sidemirror.v1.BuildMemoryContextRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sidemirror.v1.BuildMemoryContextResponse.getDefaultInstance()))
              .setSchemaDescriptor(new ReflectiveMemoryServiceMethodDescriptorSupplier("BuildMemoryContext"))
              .build();
        }
      }
    }
    return getBuildMemoryContextMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.sidemirror.v1.ReportOutcomeRequest,
      dev.sidemirror.v1.ReportOutcomeResponse> getReportOutcomeMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ReportOutcome",
      requestType = dev.sidemirror.v1.ReportOutcomeRequest.class,
      responseType = dev.sidemirror.v1.ReportOutcomeResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.sidemirror.v1.ReportOutcomeRequest,
      dev.sidemirror.v1.ReportOutcomeResponse> getReportOutcomeMethod() {
    io.grpc.MethodDescriptor<dev.sidemirror.v1.ReportOutcomeRequest, dev.sidemirror.v1.ReportOutcomeResponse> getReportOutcomeMethod;
    if ((getReportOutcomeMethod = ReflectiveMemoryServiceGrpc.getReportOutcomeMethod) == null) {
      synchronized (ReflectiveMemoryServiceGrpc.class) {
        if ((getReportOutcomeMethod = ReflectiveMemoryServiceGrpc.getReportOutcomeMethod) == null) {
          ReflectiveMemoryServiceGrpc.getReportOutcomeMethod = getReportOutcomeMethod =
              io.grpc.MethodDescriptor.<dev.sidemirror.v1.ReportOutcomeRequest, dev.sidemirror.v1.ReportOutcomeResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ReportOutcome"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sidemirror.v1.ReportOutcomeRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sidemirror.v1.ReportOutcomeResponse.getDefaultInstance()))
              .setSchemaDescriptor(new ReflectiveMemoryServiceMethodDescriptorSupplier("ReportOutcome"))
              .build();
        }
      }
    }
    return getReportOutcomeMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.sidemirror.v1.GetLessonStatisticsRequest,
      dev.sidemirror.v1.GetLessonStatisticsResponse> getGetLessonStatisticsMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "GetLessonStatistics",
      requestType = dev.sidemirror.v1.GetLessonStatisticsRequest.class,
      responseType = dev.sidemirror.v1.GetLessonStatisticsResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.sidemirror.v1.GetLessonStatisticsRequest,
      dev.sidemirror.v1.GetLessonStatisticsResponse> getGetLessonStatisticsMethod() {
    io.grpc.MethodDescriptor<dev.sidemirror.v1.GetLessonStatisticsRequest, dev.sidemirror.v1.GetLessonStatisticsResponse> getGetLessonStatisticsMethod;
    if ((getGetLessonStatisticsMethod = ReflectiveMemoryServiceGrpc.getGetLessonStatisticsMethod) == null) {
      synchronized (ReflectiveMemoryServiceGrpc.class) {
        if ((getGetLessonStatisticsMethod = ReflectiveMemoryServiceGrpc.getGetLessonStatisticsMethod) == null) {
          ReflectiveMemoryServiceGrpc.getGetLessonStatisticsMethod = getGetLessonStatisticsMethod =
              io.grpc.MethodDescriptor.<dev.sidemirror.v1.GetLessonStatisticsRequest, dev.sidemirror.v1.GetLessonStatisticsResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "GetLessonStatistics"))
              .setSafe(true)
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sidemirror.v1.GetLessonStatisticsRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sidemirror.v1.GetLessonStatisticsResponse.getDefaultInstance()))
              .setSchemaDescriptor(new ReflectiveMemoryServiceMethodDescriptorSupplier("GetLessonStatistics"))
              .build();
        }
      }
    }
    return getGetLessonStatisticsMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.sidemirror.v1.DreamRequest,
      dev.sidemirror.v1.DreamResponse> getDreamMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "Dream",
      requestType = dev.sidemirror.v1.DreamRequest.class,
      responseType = dev.sidemirror.v1.DreamResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.SERVER_STREAMING)
  public static io.grpc.MethodDescriptor<dev.sidemirror.v1.DreamRequest,
      dev.sidemirror.v1.DreamResponse> getDreamMethod() {
    io.grpc.MethodDescriptor<dev.sidemirror.v1.DreamRequest, dev.sidemirror.v1.DreamResponse> getDreamMethod;
    if ((getDreamMethod = ReflectiveMemoryServiceGrpc.getDreamMethod) == null) {
      synchronized (ReflectiveMemoryServiceGrpc.class) {
        if ((getDreamMethod = ReflectiveMemoryServiceGrpc.getDreamMethod) == null) {
          ReflectiveMemoryServiceGrpc.getDreamMethod = getDreamMethod =
              io.grpc.MethodDescriptor.<dev.sidemirror.v1.DreamRequest, dev.sidemirror.v1.DreamResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.SERVER_STREAMING)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "Dream"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sidemirror.v1.DreamRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sidemirror.v1.DreamResponse.getDefaultInstance()))
              .setSchemaDescriptor(new ReflectiveMemoryServiceMethodDescriptorSupplier("Dream"))
              .build();
        }
      }
    }
    return getDreamMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.sidemirror.v1.ListDreamsRequest,
      dev.sidemirror.v1.ListDreamsResponse> getListDreamsMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ListDreams",
      requestType = dev.sidemirror.v1.ListDreamsRequest.class,
      responseType = dev.sidemirror.v1.ListDreamsResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.sidemirror.v1.ListDreamsRequest,
      dev.sidemirror.v1.ListDreamsResponse> getListDreamsMethod() {
    io.grpc.MethodDescriptor<dev.sidemirror.v1.ListDreamsRequest, dev.sidemirror.v1.ListDreamsResponse> getListDreamsMethod;
    if ((getListDreamsMethod = ReflectiveMemoryServiceGrpc.getListDreamsMethod) == null) {
      synchronized (ReflectiveMemoryServiceGrpc.class) {
        if ((getListDreamsMethod = ReflectiveMemoryServiceGrpc.getListDreamsMethod) == null) {
          ReflectiveMemoryServiceGrpc.getListDreamsMethod = getListDreamsMethod =
              io.grpc.MethodDescriptor.<dev.sidemirror.v1.ListDreamsRequest, dev.sidemirror.v1.ListDreamsResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ListDreams"))
              .setSafe(true)
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sidemirror.v1.ListDreamsRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sidemirror.v1.ListDreamsResponse.getDefaultInstance()))
              .setSchemaDescriptor(new ReflectiveMemoryServiceMethodDescriptorSupplier("ListDreams"))
              .build();
        }
      }
    }
    return getListDreamsMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.sidemirror.v1.ListPruningsRequest,
      dev.sidemirror.v1.ListPruningsResponse> getListPruningsMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ListPrunings",
      requestType = dev.sidemirror.v1.ListPruningsRequest.class,
      responseType = dev.sidemirror.v1.ListPruningsResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.sidemirror.v1.ListPruningsRequest,
      dev.sidemirror.v1.ListPruningsResponse> getListPruningsMethod() {
    io.grpc.MethodDescriptor<dev.sidemirror.v1.ListPruningsRequest, dev.sidemirror.v1.ListPruningsResponse> getListPruningsMethod;
    if ((getListPruningsMethod = ReflectiveMemoryServiceGrpc.getListPruningsMethod) == null) {
      synchronized (ReflectiveMemoryServiceGrpc.class) {
        if ((getListPruningsMethod = ReflectiveMemoryServiceGrpc.getListPruningsMethod) == null) {
          ReflectiveMemoryServiceGrpc.getListPruningsMethod = getListPruningsMethod =
              io.grpc.MethodDescriptor.<dev.sidemirror.v1.ListPruningsRequest, dev.sidemirror.v1.ListPruningsResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ListPrunings"))
              .setSafe(true)
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sidemirror.v1.ListPruningsRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sidemirror.v1.ListPruningsResponse.getDefaultInstance()))
              .setSchemaDescriptor(new ReflectiveMemoryServiceMethodDescriptorSupplier("ListPrunings"))
              .build();
        }
      }
    }
    return getListPruningsMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.sidemirror.v1.ExportReflectionsRequest,
      dev.sidemirror.v1.ExportReflectionsResponse> getExportReflectionsMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ExportReflections",
      requestType = dev.sidemirror.v1.ExportReflectionsRequest.class,
      responseType = dev.sidemirror.v1.ExportReflectionsResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.SERVER_STREAMING)
  public static io.grpc.MethodDescriptor<dev.sidemirror.v1.ExportReflectionsRequest,
      dev.sidemirror.v1.ExportReflectionsResponse> getExportReflectionsMethod() {
    io.grpc.MethodDescriptor<dev.sidemirror.v1.ExportReflectionsRequest, dev.sidemirror.v1.ExportReflectionsResponse> getExportReflectionsMethod;
    if ((getExportReflectionsMethod = ReflectiveMemoryServiceGrpc.getExportReflectionsMethod) == null) {
      synchronized (ReflectiveMemoryServiceGrpc.class) {
        if ((getExportReflectionsMethod = ReflectiveMemoryServiceGrpc.getExportReflectionsMethod) == null) {
          ReflectiveMemoryServiceGrpc.getExportReflectionsMethod = getExportReflectionsMethod =
              io.grpc.MethodDescriptor.<dev.sidemirror.v1.ExportReflectionsRequest, dev.sidemirror.v1.ExportReflectionsResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.SERVER_STREAMING)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ExportReflections"))
              .setSafe(true)
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sidemirror.v1.ExportReflectionsRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sidemirror.v1.ExportReflectionsResponse.getDefaultInstance()))
              .setSchemaDescriptor(new ReflectiveMemoryServiceMethodDescriptorSupplier("ExportReflections"))
              .build();
        }
      }
    }
    return getExportReflectionsMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.sidemirror.v1.ImportReflectionsRequest,
      dev.sidemirror.v1.ImportReflectionsResponse> getImportReflectionsMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ImportReflections",
      requestType = dev.sidemirror.v1.ImportReflectionsRequest.class,
      responseType = dev.sidemirror.v1.ImportReflectionsResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.CLIENT_STREAMING)
  public static io.grpc.MethodDescriptor<dev.sidemirror.v1.ImportReflectionsRequest,
      dev.sidemirror.v1.ImportReflectionsResponse> getImportReflectionsMethod() {
    io.grpc.MethodDescriptor<dev.sidemirror.v1.ImportReflectionsRequest, dev.sidemirror.v1.ImportReflectionsResponse> getImportReflectionsMethod;
    if ((getImportReflectionsMethod = ReflectiveMemoryServiceGrpc.getImportReflectionsMethod) == null) {
      synchronized (ReflectiveMemoryServiceGrpc.class) {
        if ((getImportReflectionsMethod = ReflectiveMemoryServiceGrpc.getImportReflectionsMethod) == null) {
          ReflectiveMemoryServiceGrpc.getImportReflectionsMethod = getImportReflectionsMethod =
              io.grpc.MethodDescriptor.<dev.sidemirror.v1.ImportReflectionsRequest, dev.sidemirror.v1.ImportReflectionsResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.CLIENT_STREAMING)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ImportReflections"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sidemirror.v1.ImportReflectionsRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sidemirror.v1.ImportReflectionsResponse.getDefaultInstance()))
              .setSchemaDescriptor(new ReflectiveMemoryServiceMethodDescriptorSupplier("ImportReflections"))
              .build();
        }
      }
    }
    return getImportReflectionsMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.sidemirror.v1.ListClustersRequest,
      dev.sidemirror.v1.ListClustersResponse> getListClustersMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ListClusters",
      requestType = dev.sidemirror.v1.ListClustersRequest.class,
      responseType = dev.sidemirror.v1.ListClustersResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.sidemirror.v1.ListClustersRequest,
      dev.sidemirror.v1.ListClustersResponse> getListClustersMethod() {
    io.grpc.MethodDescriptor<dev.sidemirror.v1.ListClustersRequest, dev.sidemirror.v1.ListClustersResponse> getListClustersMethod;
    if ((getListClustersMethod = ReflectiveMemoryServiceGrpc.getListClustersMethod) == null) {
      synchronized (ReflectiveMemoryServiceGrpc.class) {
        if ((getListClustersMethod = ReflectiveMemoryServiceGrpc.getListClustersMethod) == null) {
          ReflectiveMemoryServiceGrpc.getListClustersMethod = getListClustersMethod =
              io.grpc.MethodDescriptor.<dev.sidemirror.v1.ListClustersRequest, dev.sidemirror.v1.ListClustersResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ListClusters"))
              .setSafe(true)
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sidemirror.v1.ListClustersRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sidemirror.v1.ListClustersResponse.getDefaultInstance()))
              .setSchemaDescriptor(new ReflectiveMemoryServiceMethodDescriptorSupplier("ListClusters"))
              .build();
        }
      }
    }
    return getListClustersMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.sidemirror.v1.LinkReflectionsRequest,
      dev.sidemirror.v1.LinkReflectionsResponse> getLinkReflectionsMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "LinkReflections",
      requestType = dev.sidemirror.v1.LinkReflectionsRequest.class,
      responseType = dev.sidemirror.v1.LinkReflectionsResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.sidemirror.v1.LinkReflectionsRequest,
      dev.sidemirror.v1.LinkReflectionsResponse> getLinkReflectionsMethod() {
    io.grpc.MethodDescriptor<dev.sidemirror.v1.LinkReflectionsRequest, dev.sidemirror.v1.LinkReflectionsResponse> getLinkReflectionsMethod;
    if ((getLinkReflectionsMethod = ReflectiveMemoryServiceGrpc.getLinkReflectionsMethod) == null) {
      synchronized (ReflectiveMemoryServiceGrpc.class) {
        if ((getLinkReflectionsMethod = ReflectiveMemoryServiceGrpc.getLinkReflectionsMethod) == null) {
          ReflectiveMemoryServiceGrpc.getLinkReflectionsMethod = getLinkReflectionsMethod =
              io.grpc.MethodDescriptor.<dev.sidemirror.v1.LinkReflectionsRequest, dev.sidemirror.v1.LinkReflectionsResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "LinkReflections"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sidemirror.v1.LinkReflectionsRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sidemirror.v1.LinkReflectionsResponse.getDefaultInstance()))
              .setSchemaDescriptor(new ReflectiveMemoryServiceMethodDescriptorSupplier("LinkReflections"))
              .build();
        }
      }
    }
    return getLinkReflectionsMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.sidemirror.v1.ExploreGraphRequest,
      dev.sidemirror.v1.ExploreGraphResponse> getExploreGraphMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ExploreGraph",
      requestType = dev.sidemirror.v1.ExploreGraphRequest.class,
      responseType = dev.sidemirror.v1.ExploreGraphResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.sidemirror.v1.ExploreGraphRequest,
      dev.sidemirror.v1.ExploreGraphResponse> getExploreGraphMethod() {
    io.grpc.MethodDescriptor<dev.sidemirror.v1.ExploreGraphRequest, dev.sidemirror.v1.ExploreGraphResponse> getExploreGraphMethod;
    if ((getExploreGraphMethod = ReflectiveMemoryServiceGrpc.getExploreGraphMethod) == null) {
      synchronized (ReflectiveMemoryServiceGrpc.class) {
        if ((getExploreGraphMethod = ReflectiveMemoryServiceGrpc.getExploreGraphMethod) == null) {
          ReflectiveMemoryServiceGrpc.getExploreGraphMethod = getExploreGraphMethod =
              io.grpc.MethodDescriptor.<dev.sidemirror.v1.ExploreGraphRequest, dev.sidemirror.v1.ExploreGraphResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ExploreGraph"))
              .setSafe(true)
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sidemirror.v1.ExploreGraphRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sidemirror.v1.ExploreGraphResponse.getDefaultInstance()))
              .setSchemaDescriptor(new ReflectiveMemoryServiceMethodDescriptorSupplier("ExploreGraph"))
              .build();
        }
      }
    }
    return getExploreGraphMethod;
  }

  /**
   * Creates a new async stub that supports all call types for the service
   */
  public static ReflectiveMemoryServiceStub newStub(io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<ReflectiveMemoryServiceStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<ReflectiveMemoryServiceStub>() {
        @java.lang.Override
        public ReflectiveMemoryServiceStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new ReflectiveMemoryServiceStub(channel, callOptions);
        }
      };
    return ReflectiveMemoryServiceStub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports all types of calls on the service
   */
  public static ReflectiveMemoryServiceBlockingV2Stub newBlockingV2Stub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<ReflectiveMemoryServiceBlockingV2Stub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<ReflectiveMemoryServiceBlockingV2Stub>() {
        @java.lang.Override
        public ReflectiveMemoryServiceBlockingV2Stub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new ReflectiveMemoryServiceBlockingV2Stub(channel, callOptions);
        }
      };
    return ReflectiveMemoryServiceBlockingV2Stub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports unary and streaming output calls on the service
   */
  public static ReflectiveMemoryServiceBlockingStub newBlockingStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<ReflectiveMemoryServiceBlockingStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<ReflectiveMemoryServiceBlockingStub>() {
        @java.lang.Override
        public ReflectiveMemoryServiceBlockingStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new ReflectiveMemoryServiceBlockingStub(channel, callOptions);
        }
      };
    return ReflectiveMemoryServiceBlockingStub.newStub(factory, channel);
  }

  /**
   * Creates a new ListenableFuture-style stub that supports unary calls on the service
   */
  public static ReflectiveMemoryServiceFutureStub newFutureStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<ReflectiveMemoryServiceFutureStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<ReflectiveMemoryServiceFutureStub>() {
        @java.lang.Override
        public ReflectiveMemoryServiceFutureStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new ReflectiveMemoryServiceFutureStub(channel, callOptions);
        }
      };
    return ReflectiveMemoryServiceFutureStub.newStub(factory, channel);
  }

  /**
   * <pre>
   * What did this teach, and what was learned that fits here?
   * A reflection says what happened and why, a strategy what to do next time. Both are kept for good, found again by what
   * they say and where they apply, and carry how far their text can be trusted. Texts that try to steer whoever reads them
   * are kept in quarantine, and are not recalled unless a person lets them out.
   * Other than elsewhere, GenerateReflection fails when no model answers: UNAVAILABLE, DEADLINE_EXCEEDED or
   * RESOURCE_EXHAUSTED, with an ErrorInfo. With REFLECTIVE_MEMORY_ENABLED=false every call is FAILED_PRECONDITION.
   * </pre>
   */
  public interface AsyncService {

    /**
     * <pre>
     * Reflects on a trace: given events, a recorded turn, or the turns of a session. Keeps the result when `store` is true.
     * </pre>
     */
    default void generateReflection(dev.sidemirror.v1.GenerateReflectionRequest request,
        io.grpc.stub.StreamObserver<dev.sidemirror.v1.GenerateReflectionResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getGenerateReflectionMethod(), responseObserver);
    }

    /**
     * <pre>
     * Keeps a reflection and, when there is one, its strategy, in one transaction. What is known already, word for word or
     * from the same episode, is strengthened instead of kept a second time; the ids are then those of what was known.
     * </pre>
     */
    default void storeReflection(dev.sidemirror.v1.StoreReflectionRequest request,
        io.grpc.stub.StreamObserver<dev.sidemirror.v1.StoreReflectionResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getStoreReflectionMethod(), responseObserver);
    }

    /**
     * <pre>
     * One memory, whatever its state.
     * </pre>
     */
    default void getReflection(dev.sidemirror.v1.GetReflectionRequest request,
        io.grpc.stub.StreamObserver<dev.sidemirror.v1.GetReflectionResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getGetReflectionMethod(), responseObserver);
    }

    /**
     * <pre>
     * Memories, the newest first.
     * </pre>
     */
    default void listReflections(dev.sidemirror.v1.ListReflectionsRequest request,
        io.grpc.stub.StreamObserver<dev.sidemirror.v1.ListReflectionsResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getListReflectionsMethod(), responseObserver);
    }

    /**
     * <pre>
     * Changes a memory: its next version. A new text is judged like any that enters: it may put the memory in quarantine.
     * </pre>
     */
    default void updateReflection(dev.sidemirror.v1.UpdateReflectionRequest request,
        io.grpc.stub.StreamObserver<dev.sidemirror.v1.UpdateReflectionResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getUpdateReflectionMethod(), responseObserver);
    }

    /**
     * <pre>
     * Removes a memory with all its versions. Its reflection or strategy stays. It may be learned anew; to keep a lesson
     * from coming back, retire it (ReviewReflection).
     * </pre>
     */
    default void deleteReflection(dev.sidemirror.v1.DeleteReflectionRequest request,
        io.grpc.stub.StreamObserver<dev.sidemirror.v1.DeleteReflectionResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getDeleteReflectionMethod(), responseObserver);
    }

    /**
     * <pre>
     * How a memory evolved: its versions, the newest first, the present one among them.
     * </pre>
     */
    default void listReflectionVersions(dev.sidemirror.v1.ListReflectionVersionsRequest request,
        io.grpc.stub.StreamObserver<dev.sidemirror.v1.ListReflectionVersionsResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getListReflectionVersionsMethod(), responseObserver);
    }

    /**
     * <pre>
     * Promotes, retires or quarantines a memory, with a reason: its next version.
     * </pre>
     */
    default void reviewReflection(dev.sidemirror.v1.ReviewReflectionRequest request,
        io.grpc.stub.StreamObserver<dev.sidemirror.v1.ReviewReflectionResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getReviewReflectionMethod(), responseObserver);
    }

    /**
     * <pre>
     * Memories that fit a text and a filter, the best first. Active ones only, unless quarantined ones are asked for.
     * </pre>
     */
    default void queryReflections(dev.sidemirror.v1.QueryReflectionsRequest request,
        io.grpc.stub.StreamObserver<dev.sidemirror.v1.QueryReflectionsResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getQueryReflectionsMethod(), responseObserver);
    }

    /**
     * <pre>
     * The strategies and reflections that fit a task, as a block of data with a receipt.
     * </pre>
     */
    default void buildMemoryContext(dev.sidemirror.v1.BuildMemoryContextRequest request,
        io.grpc.stub.StreamObserver<dev.sidemirror.v1.BuildMemoryContextResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getBuildMemoryContextMethod(), responseObserver);
    }

    /**
     * <pre>
     * Tells what became of the task that a block was built for. A lesson that turns out to harm is retired with it: its next
     * version says so and why, and ReviewReflection takes that back.
     * </pre>
     */
    default void reportOutcome(dev.sidemirror.v1.ReportOutcomeRequest request,
        io.grpc.stub.StreamObserver<dev.sidemirror.v1.ReportOutcomeResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getReportOutcomeMethod(), responseObserver);
    }

    /**
     * <pre>
     * Whether lessons help: what became of tasks that they were shown for, against tasks that they were held back from.
     * </pre>
     */
    default void getLessonStatistics(dev.sidemirror.v1.GetLessonStatisticsRequest request,
        io.grpc.stub.StreamObserver<dev.sidemirror.v1.GetLessonStatisticsResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getGetLessonStatisticsMethod(), responseObserver);
    }

    /**
     * <pre>
     * Lets the project dream, now: reads what is new in its memory, gathers it with what it is like, asks a model what that
     * teaches together, and keeps what at least two distinct episodes support. Nothing is deleted, and no memory is
     * rewritten. Answers with the progress of the pass and, last, with its entry in the log. A project has one dreamer: a
     * pass that is under way already, in whichever sidecar, is followed. It goes on when the caller leaves. A project also
     * dreams by itself, 2 hours after it was last heard of, or 24 hours after its last pass. With
     * REFLECTIVE_MEMORY_MODE=lite FAILED_PRECONDITION; so it is for a pass that cannot be finished.
     * </pre>
     */
    default void dream(dev.sidemirror.v1.DreamRequest request,
        io.grpc.stub.StreamObserver<dev.sidemirror.v1.DreamResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getDreamMethod(), responseObserver);
    }

    /**
     * <pre>
     * What passes came to, the newest first. The log is permanent.
     * </pre>
     */
    default void listDreams(dev.sidemirror.v1.ListDreamsRequest request,
        io.grpc.stub.StreamObserver<dev.sidemirror.v1.ListDreamsResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getListDreamsMethod(), responseObserver);
    }

    /**
     * <pre>
     * What was removed because it was old, the newest first: unimportant memories, and the traces of turns. The log is
     * permanent.
     * </pre>
     */
    default void listPrunings(dev.sidemirror.v1.ListPruningsRequest request,
        io.grpc.stub.StreamObserver<dev.sidemirror.v1.ListPruningsResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getListPruningsMethod(), responseObserver);
    }

    /**
     * <pre>
     * Everything that is kept, versions and links included, as lines of JSON: one for each memory, the newest first.
     * </pre>
     */
    default void exportReflections(dev.sidemirror.v1.ExportReflectionsRequest request,
        io.grpc.stub.StreamObserver<dev.sidemirror.v1.ExportReflectionsResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getExportReflectionsMethod(), responseObserver);
    }

    /**
     * <pre>
     * Keeps the lines of an export. A memory whose id is known is left as it is, so that the same lines may come again; a
     * line that cannot be used is reported by its number, and the others are kept. A text that would be quarantined if it
     * were learned is quarantined (with the policy `corroborated` unless its line has a second episode or a review), and no
     * memory is trusted more than the agent's own text, whatever its line says.
     * </pre>
     */
    default io.grpc.stub.StreamObserver<dev.sidemirror.v1.ImportReflectionsRequest> importReflections(
        io.grpc.stub.StreamObserver<dev.sidemirror.v1.ImportReflectionsResponse> responseObserver) {
      return io.grpc.stub.ServerCalls.asyncUnimplementedStreamingCall(getImportReflectionsMethod(), responseObserver);
    }

    /**
     * <pre>
     * Memories that belong together, by the failure that they tell of, their tool, or their words: the clusters with the
     * most episodes first. Of a project with more than 2,000 active memories the newest 2,000 count.
     * </pre>
     */
    default void listClusters(dev.sidemirror.v1.ListClustersRequest request,
        io.grpc.stub.StreamObserver<dev.sidemirror.v1.ListClustersResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getListClustersMethod(), responseObserver);
    }

    /**
     * <pre>
     * Links memories, or removes links. Those that arise from what is learned are made by the server: between a strategy
     * and its reflection, to memories that it was made with, to lessons of the same error or of much the same words, and to
     * the tools, errors and names that it mentions.
     * </pre>
     */
    default void linkReflections(dev.sidemirror.v1.LinkReflectionsRequest request,
        io.grpc.stub.StreamObserver<dev.sidemirror.v1.LinkReflectionsResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getLinkReflectionsMethod(), responseObserver);
    }

    /**
     * <pre>
     * What hangs together with a memory, a tool, an error or a name, as far as some links away. What is not there, or is
     * another tenant's, is left out.
     * </pre>
     */
    default void exploreGraph(dev.sidemirror.v1.ExploreGraphRequest request,
        io.grpc.stub.StreamObserver<dev.sidemirror.v1.ExploreGraphResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getExploreGraphMethod(), responseObserver);
    }
  }

  /**
   * Base class for the server implementation of the service ReflectiveMemoryService.
   * <pre>
   * What did this teach, and what was learned that fits here?
   * A reflection says what happened and why, a strategy what to do next time. Both are kept for good, found again by what
   * they say and where they apply, and carry how far their text can be trusted. Texts that try to steer whoever reads them
   * are kept in quarantine, and are not recalled unless a person lets them out.
   * Other than elsewhere, GenerateReflection fails when no model answers: UNAVAILABLE, DEADLINE_EXCEEDED or
   * RESOURCE_EXHAUSTED, with an ErrorInfo. With REFLECTIVE_MEMORY_ENABLED=false every call is FAILED_PRECONDITION.
   * </pre>
   */
  public static abstract class ReflectiveMemoryServiceImplBase
      implements io.grpc.BindableService, AsyncService {

    @java.lang.Override public final io.grpc.ServerServiceDefinition bindService() {
      return ReflectiveMemoryServiceGrpc.bindService(this);
    }
  }

  /**
   * A stub to allow clients to do asynchronous rpc calls to service ReflectiveMemoryService.
   * <pre>
   * What did this teach, and what was learned that fits here?
   * A reflection says what happened and why, a strategy what to do next time. Both are kept for good, found again by what
   * they say and where they apply, and carry how far their text can be trusted. Texts that try to steer whoever reads them
   * are kept in quarantine, and are not recalled unless a person lets them out.
   * Other than elsewhere, GenerateReflection fails when no model answers: UNAVAILABLE, DEADLINE_EXCEEDED or
   * RESOURCE_EXHAUSTED, with an ErrorInfo. With REFLECTIVE_MEMORY_ENABLED=false every call is FAILED_PRECONDITION.
   * </pre>
   */
  public static final class ReflectiveMemoryServiceStub
      extends io.grpc.stub.AbstractAsyncStub<ReflectiveMemoryServiceStub> {
    private ReflectiveMemoryServiceStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected ReflectiveMemoryServiceStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new ReflectiveMemoryServiceStub(channel, callOptions);
    }

    /**
     * <pre>
     * Reflects on a trace: given events, a recorded turn, or the turns of a session. Keeps the result when `store` is true.
     * </pre>
     */
    public void generateReflection(dev.sidemirror.v1.GenerateReflectionRequest request,
        io.grpc.stub.StreamObserver<dev.sidemirror.v1.GenerateReflectionResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getGenerateReflectionMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Keeps a reflection and, when there is one, its strategy, in one transaction. What is known already, word for word or
     * from the same episode, is strengthened instead of kept a second time; the ids are then those of what was known.
     * </pre>
     */
    public void storeReflection(dev.sidemirror.v1.StoreReflectionRequest request,
        io.grpc.stub.StreamObserver<dev.sidemirror.v1.StoreReflectionResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getStoreReflectionMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * One memory, whatever its state.
     * </pre>
     */
    public void getReflection(dev.sidemirror.v1.GetReflectionRequest request,
        io.grpc.stub.StreamObserver<dev.sidemirror.v1.GetReflectionResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getGetReflectionMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Memories, the newest first.
     * </pre>
     */
    public void listReflections(dev.sidemirror.v1.ListReflectionsRequest request,
        io.grpc.stub.StreamObserver<dev.sidemirror.v1.ListReflectionsResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getListReflectionsMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Changes a memory: its next version. A new text is judged like any that enters: it may put the memory in quarantine.
     * </pre>
     */
    public void updateReflection(dev.sidemirror.v1.UpdateReflectionRequest request,
        io.grpc.stub.StreamObserver<dev.sidemirror.v1.UpdateReflectionResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getUpdateReflectionMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Removes a memory with all its versions. Its reflection or strategy stays. It may be learned anew; to keep a lesson
     * from coming back, retire it (ReviewReflection).
     * </pre>
     */
    public void deleteReflection(dev.sidemirror.v1.DeleteReflectionRequest request,
        io.grpc.stub.StreamObserver<dev.sidemirror.v1.DeleteReflectionResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getDeleteReflectionMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * How a memory evolved: its versions, the newest first, the present one among them.
     * </pre>
     */
    public void listReflectionVersions(dev.sidemirror.v1.ListReflectionVersionsRequest request,
        io.grpc.stub.StreamObserver<dev.sidemirror.v1.ListReflectionVersionsResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getListReflectionVersionsMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Promotes, retires or quarantines a memory, with a reason: its next version.
     * </pre>
     */
    public void reviewReflection(dev.sidemirror.v1.ReviewReflectionRequest request,
        io.grpc.stub.StreamObserver<dev.sidemirror.v1.ReviewReflectionResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getReviewReflectionMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Memories that fit a text and a filter, the best first. Active ones only, unless quarantined ones are asked for.
     * </pre>
     */
    public void queryReflections(dev.sidemirror.v1.QueryReflectionsRequest request,
        io.grpc.stub.StreamObserver<dev.sidemirror.v1.QueryReflectionsResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getQueryReflectionsMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * The strategies and reflections that fit a task, as a block of data with a receipt.
     * </pre>
     */
    public void buildMemoryContext(dev.sidemirror.v1.BuildMemoryContextRequest request,
        io.grpc.stub.StreamObserver<dev.sidemirror.v1.BuildMemoryContextResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getBuildMemoryContextMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Tells what became of the task that a block was built for. A lesson that turns out to harm is retired with it: its next
     * version says so and why, and ReviewReflection takes that back.
     * </pre>
     */
    public void reportOutcome(dev.sidemirror.v1.ReportOutcomeRequest request,
        io.grpc.stub.StreamObserver<dev.sidemirror.v1.ReportOutcomeResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getReportOutcomeMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Whether lessons help: what became of tasks that they were shown for, against tasks that they were held back from.
     * </pre>
     */
    public void getLessonStatistics(dev.sidemirror.v1.GetLessonStatisticsRequest request,
        io.grpc.stub.StreamObserver<dev.sidemirror.v1.GetLessonStatisticsResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getGetLessonStatisticsMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Lets the project dream, now: reads what is new in its memory, gathers it with what it is like, asks a model what that
     * teaches together, and keeps what at least two distinct episodes support. Nothing is deleted, and no memory is
     * rewritten. Answers with the progress of the pass and, last, with its entry in the log. A project has one dreamer: a
     * pass that is under way already, in whichever sidecar, is followed. It goes on when the caller leaves. A project also
     * dreams by itself, 2 hours after it was last heard of, or 24 hours after its last pass. With
     * REFLECTIVE_MEMORY_MODE=lite FAILED_PRECONDITION; so it is for a pass that cannot be finished.
     * </pre>
     */
    public void dream(dev.sidemirror.v1.DreamRequest request,
        io.grpc.stub.StreamObserver<dev.sidemirror.v1.DreamResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncServerStreamingCall(
          getChannel().newCall(getDreamMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * What passes came to, the newest first. The log is permanent.
     * </pre>
     */
    public void listDreams(dev.sidemirror.v1.ListDreamsRequest request,
        io.grpc.stub.StreamObserver<dev.sidemirror.v1.ListDreamsResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getListDreamsMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * What was removed because it was old, the newest first: unimportant memories, and the traces of turns. The log is
     * permanent.
     * </pre>
     */
    public void listPrunings(dev.sidemirror.v1.ListPruningsRequest request,
        io.grpc.stub.StreamObserver<dev.sidemirror.v1.ListPruningsResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getListPruningsMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Everything that is kept, versions and links included, as lines of JSON: one for each memory, the newest first.
     * </pre>
     */
    public void exportReflections(dev.sidemirror.v1.ExportReflectionsRequest request,
        io.grpc.stub.StreamObserver<dev.sidemirror.v1.ExportReflectionsResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncServerStreamingCall(
          getChannel().newCall(getExportReflectionsMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Keeps the lines of an export. A memory whose id is known is left as it is, so that the same lines may come again; a
     * line that cannot be used is reported by its number, and the others are kept. A text that would be quarantined if it
     * were learned is quarantined (with the policy `corroborated` unless its line has a second episode or a review), and no
     * memory is trusted more than the agent's own text, whatever its line says.
     * </pre>
     */
    public io.grpc.stub.StreamObserver<dev.sidemirror.v1.ImportReflectionsRequest> importReflections(
        io.grpc.stub.StreamObserver<dev.sidemirror.v1.ImportReflectionsResponse> responseObserver) {
      return io.grpc.stub.ClientCalls.asyncClientStreamingCall(
          getChannel().newCall(getImportReflectionsMethod(), getCallOptions()), responseObserver);
    }

    /**
     * <pre>
     * Memories that belong together, by the failure that they tell of, their tool, or their words: the clusters with the
     * most episodes first. Of a project with more than 2,000 active memories the newest 2,000 count.
     * </pre>
     */
    public void listClusters(dev.sidemirror.v1.ListClustersRequest request,
        io.grpc.stub.StreamObserver<dev.sidemirror.v1.ListClustersResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getListClustersMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Links memories, or removes links. Those that arise from what is learned are made by the server: between a strategy
     * and its reflection, to memories that it was made with, to lessons of the same error or of much the same words, and to
     * the tools, errors and names that it mentions.
     * </pre>
     */
    public void linkReflections(dev.sidemirror.v1.LinkReflectionsRequest request,
        io.grpc.stub.StreamObserver<dev.sidemirror.v1.LinkReflectionsResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getLinkReflectionsMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * What hangs together with a memory, a tool, an error or a name, as far as some links away. What is not there, or is
     * another tenant's, is left out.
     * </pre>
     */
    public void exploreGraph(dev.sidemirror.v1.ExploreGraphRequest request,
        io.grpc.stub.StreamObserver<dev.sidemirror.v1.ExploreGraphResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getExploreGraphMethod(), getCallOptions()), request, responseObserver);
    }
  }

  /**
   * A stub to allow clients to do synchronous rpc calls to service ReflectiveMemoryService.
   * <pre>
   * What did this teach, and what was learned that fits here?
   * A reflection says what happened and why, a strategy what to do next time. Both are kept for good, found again by what
   * they say and where they apply, and carry how far their text can be trusted. Texts that try to steer whoever reads them
   * are kept in quarantine, and are not recalled unless a person lets them out.
   * Other than elsewhere, GenerateReflection fails when no model answers: UNAVAILABLE, DEADLINE_EXCEEDED or
   * RESOURCE_EXHAUSTED, with an ErrorInfo. With REFLECTIVE_MEMORY_ENABLED=false every call is FAILED_PRECONDITION.
   * </pre>
   */
  public static final class ReflectiveMemoryServiceBlockingV2Stub
      extends io.grpc.stub.AbstractBlockingStub<ReflectiveMemoryServiceBlockingV2Stub> {
    private ReflectiveMemoryServiceBlockingV2Stub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected ReflectiveMemoryServiceBlockingV2Stub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new ReflectiveMemoryServiceBlockingV2Stub(channel, callOptions);
    }

    /**
     * <pre>
     * Reflects on a trace: given events, a recorded turn, or the turns of a session. Keeps the result when `store` is true.
     * </pre>
     */
    public dev.sidemirror.v1.GenerateReflectionResponse generateReflection(dev.sidemirror.v1.GenerateReflectionRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getGenerateReflectionMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Keeps a reflection and, when there is one, its strategy, in one transaction. What is known already, word for word or
     * from the same episode, is strengthened instead of kept a second time; the ids are then those of what was known.
     * </pre>
     */
    public dev.sidemirror.v1.StoreReflectionResponse storeReflection(dev.sidemirror.v1.StoreReflectionRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getStoreReflectionMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * One memory, whatever its state.
     * </pre>
     */
    public dev.sidemirror.v1.GetReflectionResponse getReflection(dev.sidemirror.v1.GetReflectionRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getGetReflectionMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Memories, the newest first.
     * </pre>
     */
    public dev.sidemirror.v1.ListReflectionsResponse listReflections(dev.sidemirror.v1.ListReflectionsRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getListReflectionsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Changes a memory: its next version. A new text is judged like any that enters: it may put the memory in quarantine.
     * </pre>
     */
    public dev.sidemirror.v1.UpdateReflectionResponse updateReflection(dev.sidemirror.v1.UpdateReflectionRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getUpdateReflectionMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Removes a memory with all its versions. Its reflection or strategy stays. It may be learned anew; to keep a lesson
     * from coming back, retire it (ReviewReflection).
     * </pre>
     */
    public dev.sidemirror.v1.DeleteReflectionResponse deleteReflection(dev.sidemirror.v1.DeleteReflectionRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getDeleteReflectionMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * How a memory evolved: its versions, the newest first, the present one among them.
     * </pre>
     */
    public dev.sidemirror.v1.ListReflectionVersionsResponse listReflectionVersions(dev.sidemirror.v1.ListReflectionVersionsRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getListReflectionVersionsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Promotes, retires or quarantines a memory, with a reason: its next version.
     * </pre>
     */
    public dev.sidemirror.v1.ReviewReflectionResponse reviewReflection(dev.sidemirror.v1.ReviewReflectionRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getReviewReflectionMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Memories that fit a text and a filter, the best first. Active ones only, unless quarantined ones are asked for.
     * </pre>
     */
    public dev.sidemirror.v1.QueryReflectionsResponse queryReflections(dev.sidemirror.v1.QueryReflectionsRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getQueryReflectionsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * The strategies and reflections that fit a task, as a block of data with a receipt.
     * </pre>
     */
    public dev.sidemirror.v1.BuildMemoryContextResponse buildMemoryContext(dev.sidemirror.v1.BuildMemoryContextRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getBuildMemoryContextMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Tells what became of the task that a block was built for. A lesson that turns out to harm is retired with it: its next
     * version says so and why, and ReviewReflection takes that back.
     * </pre>
     */
    public dev.sidemirror.v1.ReportOutcomeResponse reportOutcome(dev.sidemirror.v1.ReportOutcomeRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getReportOutcomeMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Whether lessons help: what became of tasks that they were shown for, against tasks that they were held back from.
     * </pre>
     */
    public dev.sidemirror.v1.GetLessonStatisticsResponse getLessonStatistics(dev.sidemirror.v1.GetLessonStatisticsRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getGetLessonStatisticsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Lets the project dream, now: reads what is new in its memory, gathers it with what it is like, asks a model what that
     * teaches together, and keeps what at least two distinct episodes support. Nothing is deleted, and no memory is
     * rewritten. Answers with the progress of the pass and, last, with its entry in the log. A project has one dreamer: a
     * pass that is under way already, in whichever sidecar, is followed. It goes on when the caller leaves. A project also
     * dreams by itself, 2 hours after it was last heard of, or 24 hours after its last pass. With
     * REFLECTIVE_MEMORY_MODE=lite FAILED_PRECONDITION; so it is for a pass that cannot be finished.
     * </pre>
     */
    @io.grpc.ExperimentalApi("https://github.com/grpc/grpc-java/issues/10918")
    public io.grpc.stub.BlockingClientCall<?, dev.sidemirror.v1.DreamResponse>
        dream(dev.sidemirror.v1.DreamRequest request) {
      return io.grpc.stub.ClientCalls.blockingV2ServerStreamingCall(
          getChannel(), getDreamMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * What passes came to, the newest first. The log is permanent.
     * </pre>
     */
    public dev.sidemirror.v1.ListDreamsResponse listDreams(dev.sidemirror.v1.ListDreamsRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getListDreamsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * What was removed because it was old, the newest first: unimportant memories, and the traces of turns. The log is
     * permanent.
     * </pre>
     */
    public dev.sidemirror.v1.ListPruningsResponse listPrunings(dev.sidemirror.v1.ListPruningsRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getListPruningsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Everything that is kept, versions and links included, as lines of JSON: one for each memory, the newest first.
     * </pre>
     */
    @io.grpc.ExperimentalApi("https://github.com/grpc/grpc-java/issues/10918")
    public io.grpc.stub.BlockingClientCall<?, dev.sidemirror.v1.ExportReflectionsResponse>
        exportReflections(dev.sidemirror.v1.ExportReflectionsRequest request) {
      return io.grpc.stub.ClientCalls.blockingV2ServerStreamingCall(
          getChannel(), getExportReflectionsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Keeps the lines of an export. A memory whose id is known is left as it is, so that the same lines may come again; a
     * line that cannot be used is reported by its number, and the others are kept. A text that would be quarantined if it
     * were learned is quarantined (with the policy `corroborated` unless its line has a second episode or a review), and no
     * memory is trusted more than the agent's own text, whatever its line says.
     * </pre>
     */
    @io.grpc.ExperimentalApi("https://github.com/grpc/grpc-java/issues/10918")
    public io.grpc.stub.BlockingClientCall<dev.sidemirror.v1.ImportReflectionsRequest, dev.sidemirror.v1.ImportReflectionsResponse>
        importReflections() {
      return io.grpc.stub.ClientCalls.blockingClientStreamingCall(
          getChannel(), getImportReflectionsMethod(), getCallOptions());
    }

    /**
     * <pre>
     * Memories that belong together, by the failure that they tell of, their tool, or their words: the clusters with the
     * most episodes first. Of a project with more than 2,000 active memories the newest 2,000 count.
     * </pre>
     */
    public dev.sidemirror.v1.ListClustersResponse listClusters(dev.sidemirror.v1.ListClustersRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getListClustersMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Links memories, or removes links. Those that arise from what is learned are made by the server: between a strategy
     * and its reflection, to memories that it was made with, to lessons of the same error or of much the same words, and to
     * the tools, errors and names that it mentions.
     * </pre>
     */
    public dev.sidemirror.v1.LinkReflectionsResponse linkReflections(dev.sidemirror.v1.LinkReflectionsRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getLinkReflectionsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * What hangs together with a memory, a tool, an error or a name, as far as some links away. What is not there, or is
     * another tenant's, is left out.
     * </pre>
     */
    public dev.sidemirror.v1.ExploreGraphResponse exploreGraph(dev.sidemirror.v1.ExploreGraphRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getExploreGraphMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do limited synchronous rpc calls to service ReflectiveMemoryService.
   * <pre>
   * What did this teach, and what was learned that fits here?
   * A reflection says what happened and why, a strategy what to do next time. Both are kept for good, found again by what
   * they say and where they apply, and carry how far their text can be trusted. Texts that try to steer whoever reads them
   * are kept in quarantine, and are not recalled unless a person lets them out.
   * Other than elsewhere, GenerateReflection fails when no model answers: UNAVAILABLE, DEADLINE_EXCEEDED or
   * RESOURCE_EXHAUSTED, with an ErrorInfo. With REFLECTIVE_MEMORY_ENABLED=false every call is FAILED_PRECONDITION.
   * </pre>
   */
  public static final class ReflectiveMemoryServiceBlockingStub
      extends io.grpc.stub.AbstractBlockingStub<ReflectiveMemoryServiceBlockingStub> {
    private ReflectiveMemoryServiceBlockingStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected ReflectiveMemoryServiceBlockingStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new ReflectiveMemoryServiceBlockingStub(channel, callOptions);
    }

    /**
     * <pre>
     * Reflects on a trace: given events, a recorded turn, or the turns of a session. Keeps the result when `store` is true.
     * </pre>
     */
    public dev.sidemirror.v1.GenerateReflectionResponse generateReflection(dev.sidemirror.v1.GenerateReflectionRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getGenerateReflectionMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Keeps a reflection and, when there is one, its strategy, in one transaction. What is known already, word for word or
     * from the same episode, is strengthened instead of kept a second time; the ids are then those of what was known.
     * </pre>
     */
    public dev.sidemirror.v1.StoreReflectionResponse storeReflection(dev.sidemirror.v1.StoreReflectionRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getStoreReflectionMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * One memory, whatever its state.
     * </pre>
     */
    public dev.sidemirror.v1.GetReflectionResponse getReflection(dev.sidemirror.v1.GetReflectionRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getGetReflectionMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Memories, the newest first.
     * </pre>
     */
    public dev.sidemirror.v1.ListReflectionsResponse listReflections(dev.sidemirror.v1.ListReflectionsRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getListReflectionsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Changes a memory: its next version. A new text is judged like any that enters: it may put the memory in quarantine.
     * </pre>
     */
    public dev.sidemirror.v1.UpdateReflectionResponse updateReflection(dev.sidemirror.v1.UpdateReflectionRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getUpdateReflectionMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Removes a memory with all its versions. Its reflection or strategy stays. It may be learned anew; to keep a lesson
     * from coming back, retire it (ReviewReflection).
     * </pre>
     */
    public dev.sidemirror.v1.DeleteReflectionResponse deleteReflection(dev.sidemirror.v1.DeleteReflectionRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getDeleteReflectionMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * How a memory evolved: its versions, the newest first, the present one among them.
     * </pre>
     */
    public dev.sidemirror.v1.ListReflectionVersionsResponse listReflectionVersions(dev.sidemirror.v1.ListReflectionVersionsRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getListReflectionVersionsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Promotes, retires or quarantines a memory, with a reason: its next version.
     * </pre>
     */
    public dev.sidemirror.v1.ReviewReflectionResponse reviewReflection(dev.sidemirror.v1.ReviewReflectionRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getReviewReflectionMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Memories that fit a text and a filter, the best first. Active ones only, unless quarantined ones are asked for.
     * </pre>
     */
    public dev.sidemirror.v1.QueryReflectionsResponse queryReflections(dev.sidemirror.v1.QueryReflectionsRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getQueryReflectionsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * The strategies and reflections that fit a task, as a block of data with a receipt.
     * </pre>
     */
    public dev.sidemirror.v1.BuildMemoryContextResponse buildMemoryContext(dev.sidemirror.v1.BuildMemoryContextRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getBuildMemoryContextMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Tells what became of the task that a block was built for. A lesson that turns out to harm is retired with it: its next
     * version says so and why, and ReviewReflection takes that back.
     * </pre>
     */
    public dev.sidemirror.v1.ReportOutcomeResponse reportOutcome(dev.sidemirror.v1.ReportOutcomeRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getReportOutcomeMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Whether lessons help: what became of tasks that they were shown for, against tasks that they were held back from.
     * </pre>
     */
    public dev.sidemirror.v1.GetLessonStatisticsResponse getLessonStatistics(dev.sidemirror.v1.GetLessonStatisticsRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getGetLessonStatisticsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Lets the project dream, now: reads what is new in its memory, gathers it with what it is like, asks a model what that
     * teaches together, and keeps what at least two distinct episodes support. Nothing is deleted, and no memory is
     * rewritten. Answers with the progress of the pass and, last, with its entry in the log. A project has one dreamer: a
     * pass that is under way already, in whichever sidecar, is followed. It goes on when the caller leaves. A project also
     * dreams by itself, 2 hours after it was last heard of, or 24 hours after its last pass. With
     * REFLECTIVE_MEMORY_MODE=lite FAILED_PRECONDITION; so it is for a pass that cannot be finished.
     * </pre>
     */
    public java.util.Iterator<dev.sidemirror.v1.DreamResponse> dream(
        dev.sidemirror.v1.DreamRequest request) {
      return io.grpc.stub.ClientCalls.blockingServerStreamingCall(
          getChannel(), getDreamMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * What passes came to, the newest first. The log is permanent.
     * </pre>
     */
    public dev.sidemirror.v1.ListDreamsResponse listDreams(dev.sidemirror.v1.ListDreamsRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getListDreamsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * What was removed because it was old, the newest first: unimportant memories, and the traces of turns. The log is
     * permanent.
     * </pre>
     */
    public dev.sidemirror.v1.ListPruningsResponse listPrunings(dev.sidemirror.v1.ListPruningsRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getListPruningsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Everything that is kept, versions and links included, as lines of JSON: one for each memory, the newest first.
     * </pre>
     */
    public java.util.Iterator<dev.sidemirror.v1.ExportReflectionsResponse> exportReflections(
        dev.sidemirror.v1.ExportReflectionsRequest request) {
      return io.grpc.stub.ClientCalls.blockingServerStreamingCall(
          getChannel(), getExportReflectionsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Memories that belong together, by the failure that they tell of, their tool, or their words: the clusters with the
     * most episodes first. Of a project with more than 2,000 active memories the newest 2,000 count.
     * </pre>
     */
    public dev.sidemirror.v1.ListClustersResponse listClusters(dev.sidemirror.v1.ListClustersRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getListClustersMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Links memories, or removes links. Those that arise from what is learned are made by the server: between a strategy
     * and its reflection, to memories that it was made with, to lessons of the same error or of much the same words, and to
     * the tools, errors and names that it mentions.
     * </pre>
     */
    public dev.sidemirror.v1.LinkReflectionsResponse linkReflections(dev.sidemirror.v1.LinkReflectionsRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getLinkReflectionsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * What hangs together with a memory, a tool, an error or a name, as far as some links away. What is not there, or is
     * another tenant's, is left out.
     * </pre>
     */
    public dev.sidemirror.v1.ExploreGraphResponse exploreGraph(dev.sidemirror.v1.ExploreGraphRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getExploreGraphMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do ListenableFuture-style rpc calls to service ReflectiveMemoryService.
   * <pre>
   * What did this teach, and what was learned that fits here?
   * A reflection says what happened and why, a strategy what to do next time. Both are kept for good, found again by what
   * they say and where they apply, and carry how far their text can be trusted. Texts that try to steer whoever reads them
   * are kept in quarantine, and are not recalled unless a person lets them out.
   * Other than elsewhere, GenerateReflection fails when no model answers: UNAVAILABLE, DEADLINE_EXCEEDED or
   * RESOURCE_EXHAUSTED, with an ErrorInfo. With REFLECTIVE_MEMORY_ENABLED=false every call is FAILED_PRECONDITION.
   * </pre>
   */
  public static final class ReflectiveMemoryServiceFutureStub
      extends io.grpc.stub.AbstractFutureStub<ReflectiveMemoryServiceFutureStub> {
    private ReflectiveMemoryServiceFutureStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected ReflectiveMemoryServiceFutureStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new ReflectiveMemoryServiceFutureStub(channel, callOptions);
    }

    /**
     * <pre>
     * Reflects on a trace: given events, a recorded turn, or the turns of a session. Keeps the result when `store` is true.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.sidemirror.v1.GenerateReflectionResponse> generateReflection(
        dev.sidemirror.v1.GenerateReflectionRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getGenerateReflectionMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Keeps a reflection and, when there is one, its strategy, in one transaction. What is known already, word for word or
     * from the same episode, is strengthened instead of kept a second time; the ids are then those of what was known.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.sidemirror.v1.StoreReflectionResponse> storeReflection(
        dev.sidemirror.v1.StoreReflectionRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getStoreReflectionMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * One memory, whatever its state.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.sidemirror.v1.GetReflectionResponse> getReflection(
        dev.sidemirror.v1.GetReflectionRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getGetReflectionMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Memories, the newest first.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.sidemirror.v1.ListReflectionsResponse> listReflections(
        dev.sidemirror.v1.ListReflectionsRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getListReflectionsMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Changes a memory: its next version. A new text is judged like any that enters: it may put the memory in quarantine.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.sidemirror.v1.UpdateReflectionResponse> updateReflection(
        dev.sidemirror.v1.UpdateReflectionRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getUpdateReflectionMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Removes a memory with all its versions. Its reflection or strategy stays. It may be learned anew; to keep a lesson
     * from coming back, retire it (ReviewReflection).
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.sidemirror.v1.DeleteReflectionResponse> deleteReflection(
        dev.sidemirror.v1.DeleteReflectionRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getDeleteReflectionMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * How a memory evolved: its versions, the newest first, the present one among them.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.sidemirror.v1.ListReflectionVersionsResponse> listReflectionVersions(
        dev.sidemirror.v1.ListReflectionVersionsRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getListReflectionVersionsMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Promotes, retires or quarantines a memory, with a reason: its next version.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.sidemirror.v1.ReviewReflectionResponse> reviewReflection(
        dev.sidemirror.v1.ReviewReflectionRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getReviewReflectionMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Memories that fit a text and a filter, the best first. Active ones only, unless quarantined ones are asked for.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.sidemirror.v1.QueryReflectionsResponse> queryReflections(
        dev.sidemirror.v1.QueryReflectionsRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getQueryReflectionsMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * The strategies and reflections that fit a task, as a block of data with a receipt.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.sidemirror.v1.BuildMemoryContextResponse> buildMemoryContext(
        dev.sidemirror.v1.BuildMemoryContextRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getBuildMemoryContextMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Tells what became of the task that a block was built for. A lesson that turns out to harm is retired with it: its next
     * version says so and why, and ReviewReflection takes that back.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.sidemirror.v1.ReportOutcomeResponse> reportOutcome(
        dev.sidemirror.v1.ReportOutcomeRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getReportOutcomeMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Whether lessons help: what became of tasks that they were shown for, against tasks that they were held back from.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.sidemirror.v1.GetLessonStatisticsResponse> getLessonStatistics(
        dev.sidemirror.v1.GetLessonStatisticsRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getGetLessonStatisticsMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * What passes came to, the newest first. The log is permanent.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.sidemirror.v1.ListDreamsResponse> listDreams(
        dev.sidemirror.v1.ListDreamsRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getListDreamsMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * What was removed because it was old, the newest first: unimportant memories, and the traces of turns. The log is
     * permanent.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.sidemirror.v1.ListPruningsResponse> listPrunings(
        dev.sidemirror.v1.ListPruningsRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getListPruningsMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Memories that belong together, by the failure that they tell of, their tool, or their words: the clusters with the
     * most episodes first. Of a project with more than 2,000 active memories the newest 2,000 count.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.sidemirror.v1.ListClustersResponse> listClusters(
        dev.sidemirror.v1.ListClustersRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getListClustersMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Links memories, or removes links. Those that arise from what is learned are made by the server: between a strategy
     * and its reflection, to memories that it was made with, to lessons of the same error or of much the same words, and to
     * the tools, errors and names that it mentions.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.sidemirror.v1.LinkReflectionsResponse> linkReflections(
        dev.sidemirror.v1.LinkReflectionsRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getLinkReflectionsMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * What hangs together with a memory, a tool, an error or a name, as far as some links away. What is not there, or is
     * another tenant's, is left out.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.sidemirror.v1.ExploreGraphResponse> exploreGraph(
        dev.sidemirror.v1.ExploreGraphRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getExploreGraphMethod(), getCallOptions()), request);
    }
  }

  private static final int METHODID_GENERATE_REFLECTION = 0;
  private static final int METHODID_STORE_REFLECTION = 1;
  private static final int METHODID_GET_REFLECTION = 2;
  private static final int METHODID_LIST_REFLECTIONS = 3;
  private static final int METHODID_UPDATE_REFLECTION = 4;
  private static final int METHODID_DELETE_REFLECTION = 5;
  private static final int METHODID_LIST_REFLECTION_VERSIONS = 6;
  private static final int METHODID_REVIEW_REFLECTION = 7;
  private static final int METHODID_QUERY_REFLECTIONS = 8;
  private static final int METHODID_BUILD_MEMORY_CONTEXT = 9;
  private static final int METHODID_REPORT_OUTCOME = 10;
  private static final int METHODID_GET_LESSON_STATISTICS = 11;
  private static final int METHODID_DREAM = 12;
  private static final int METHODID_LIST_DREAMS = 13;
  private static final int METHODID_LIST_PRUNINGS = 14;
  private static final int METHODID_EXPORT_REFLECTIONS = 15;
  private static final int METHODID_LIST_CLUSTERS = 16;
  private static final int METHODID_LINK_REFLECTIONS = 17;
  private static final int METHODID_EXPLORE_GRAPH = 18;
  private static final int METHODID_IMPORT_REFLECTIONS = 19;

  private static final class MethodHandlers<Req, Resp> implements
      io.grpc.stub.ServerCalls.UnaryMethod<Req, Resp>,
      io.grpc.stub.ServerCalls.ServerStreamingMethod<Req, Resp>,
      io.grpc.stub.ServerCalls.ClientStreamingMethod<Req, Resp>,
      io.grpc.stub.ServerCalls.BidiStreamingMethod<Req, Resp> {
    private final AsyncService serviceImpl;
    private final int methodId;

    MethodHandlers(AsyncService serviceImpl, int methodId) {
      this.serviceImpl = serviceImpl;
      this.methodId = methodId;
    }

    @java.lang.Override
    @java.lang.SuppressWarnings("unchecked")
    public void invoke(Req request, io.grpc.stub.StreamObserver<Resp> responseObserver) {
      switch (methodId) {
        case METHODID_GENERATE_REFLECTION:
          serviceImpl.generateReflection((dev.sidemirror.v1.GenerateReflectionRequest) request,
              (io.grpc.stub.StreamObserver<dev.sidemirror.v1.GenerateReflectionResponse>) responseObserver);
          break;
        case METHODID_STORE_REFLECTION:
          serviceImpl.storeReflection((dev.sidemirror.v1.StoreReflectionRequest) request,
              (io.grpc.stub.StreamObserver<dev.sidemirror.v1.StoreReflectionResponse>) responseObserver);
          break;
        case METHODID_GET_REFLECTION:
          serviceImpl.getReflection((dev.sidemirror.v1.GetReflectionRequest) request,
              (io.grpc.stub.StreamObserver<dev.sidemirror.v1.GetReflectionResponse>) responseObserver);
          break;
        case METHODID_LIST_REFLECTIONS:
          serviceImpl.listReflections((dev.sidemirror.v1.ListReflectionsRequest) request,
              (io.grpc.stub.StreamObserver<dev.sidemirror.v1.ListReflectionsResponse>) responseObserver);
          break;
        case METHODID_UPDATE_REFLECTION:
          serviceImpl.updateReflection((dev.sidemirror.v1.UpdateReflectionRequest) request,
              (io.grpc.stub.StreamObserver<dev.sidemirror.v1.UpdateReflectionResponse>) responseObserver);
          break;
        case METHODID_DELETE_REFLECTION:
          serviceImpl.deleteReflection((dev.sidemirror.v1.DeleteReflectionRequest) request,
              (io.grpc.stub.StreamObserver<dev.sidemirror.v1.DeleteReflectionResponse>) responseObserver);
          break;
        case METHODID_LIST_REFLECTION_VERSIONS:
          serviceImpl.listReflectionVersions((dev.sidemirror.v1.ListReflectionVersionsRequest) request,
              (io.grpc.stub.StreamObserver<dev.sidemirror.v1.ListReflectionVersionsResponse>) responseObserver);
          break;
        case METHODID_REVIEW_REFLECTION:
          serviceImpl.reviewReflection((dev.sidemirror.v1.ReviewReflectionRequest) request,
              (io.grpc.stub.StreamObserver<dev.sidemirror.v1.ReviewReflectionResponse>) responseObserver);
          break;
        case METHODID_QUERY_REFLECTIONS:
          serviceImpl.queryReflections((dev.sidemirror.v1.QueryReflectionsRequest) request,
              (io.grpc.stub.StreamObserver<dev.sidemirror.v1.QueryReflectionsResponse>) responseObserver);
          break;
        case METHODID_BUILD_MEMORY_CONTEXT:
          serviceImpl.buildMemoryContext((dev.sidemirror.v1.BuildMemoryContextRequest) request,
              (io.grpc.stub.StreamObserver<dev.sidemirror.v1.BuildMemoryContextResponse>) responseObserver);
          break;
        case METHODID_REPORT_OUTCOME:
          serviceImpl.reportOutcome((dev.sidemirror.v1.ReportOutcomeRequest) request,
              (io.grpc.stub.StreamObserver<dev.sidemirror.v1.ReportOutcomeResponse>) responseObserver);
          break;
        case METHODID_GET_LESSON_STATISTICS:
          serviceImpl.getLessonStatistics((dev.sidemirror.v1.GetLessonStatisticsRequest) request,
              (io.grpc.stub.StreamObserver<dev.sidemirror.v1.GetLessonStatisticsResponse>) responseObserver);
          break;
        case METHODID_DREAM:
          serviceImpl.dream((dev.sidemirror.v1.DreamRequest) request,
              (io.grpc.stub.StreamObserver<dev.sidemirror.v1.DreamResponse>) responseObserver);
          break;
        case METHODID_LIST_DREAMS:
          serviceImpl.listDreams((dev.sidemirror.v1.ListDreamsRequest) request,
              (io.grpc.stub.StreamObserver<dev.sidemirror.v1.ListDreamsResponse>) responseObserver);
          break;
        case METHODID_LIST_PRUNINGS:
          serviceImpl.listPrunings((dev.sidemirror.v1.ListPruningsRequest) request,
              (io.grpc.stub.StreamObserver<dev.sidemirror.v1.ListPruningsResponse>) responseObserver);
          break;
        case METHODID_EXPORT_REFLECTIONS:
          serviceImpl.exportReflections((dev.sidemirror.v1.ExportReflectionsRequest) request,
              (io.grpc.stub.StreamObserver<dev.sidemirror.v1.ExportReflectionsResponse>) responseObserver);
          break;
        case METHODID_LIST_CLUSTERS:
          serviceImpl.listClusters((dev.sidemirror.v1.ListClustersRequest) request,
              (io.grpc.stub.StreamObserver<dev.sidemirror.v1.ListClustersResponse>) responseObserver);
          break;
        case METHODID_LINK_REFLECTIONS:
          serviceImpl.linkReflections((dev.sidemirror.v1.LinkReflectionsRequest) request,
              (io.grpc.stub.StreamObserver<dev.sidemirror.v1.LinkReflectionsResponse>) responseObserver);
          break;
        case METHODID_EXPLORE_GRAPH:
          serviceImpl.exploreGraph((dev.sidemirror.v1.ExploreGraphRequest) request,
              (io.grpc.stub.StreamObserver<dev.sidemirror.v1.ExploreGraphResponse>) responseObserver);
          break;
        default:
          throw new AssertionError();
      }
    }

    @java.lang.Override
    @java.lang.SuppressWarnings("unchecked")
    public io.grpc.stub.StreamObserver<Req> invoke(
        io.grpc.stub.StreamObserver<Resp> responseObserver) {
      switch (methodId) {
        case METHODID_IMPORT_REFLECTIONS:
          return (io.grpc.stub.StreamObserver<Req>) serviceImpl.importReflections(
              (io.grpc.stub.StreamObserver<dev.sidemirror.v1.ImportReflectionsResponse>) responseObserver);
        default:
          throw new AssertionError();
      }
    }
  }

  public static final io.grpc.ServerServiceDefinition bindService(AsyncService service) {
    return io.grpc.ServerServiceDefinition.builder(getServiceDescriptor())
        .addMethod(
          getGenerateReflectionMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.sidemirror.v1.GenerateReflectionRequest,
              dev.sidemirror.v1.GenerateReflectionResponse>(
                service, METHODID_GENERATE_REFLECTION)))
        .addMethod(
          getStoreReflectionMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.sidemirror.v1.StoreReflectionRequest,
              dev.sidemirror.v1.StoreReflectionResponse>(
                service, METHODID_STORE_REFLECTION)))
        .addMethod(
          getGetReflectionMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.sidemirror.v1.GetReflectionRequest,
              dev.sidemirror.v1.GetReflectionResponse>(
                service, METHODID_GET_REFLECTION)))
        .addMethod(
          getListReflectionsMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.sidemirror.v1.ListReflectionsRequest,
              dev.sidemirror.v1.ListReflectionsResponse>(
                service, METHODID_LIST_REFLECTIONS)))
        .addMethod(
          getUpdateReflectionMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.sidemirror.v1.UpdateReflectionRequest,
              dev.sidemirror.v1.UpdateReflectionResponse>(
                service, METHODID_UPDATE_REFLECTION)))
        .addMethod(
          getDeleteReflectionMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.sidemirror.v1.DeleteReflectionRequest,
              dev.sidemirror.v1.DeleteReflectionResponse>(
                service, METHODID_DELETE_REFLECTION)))
        .addMethod(
          getListReflectionVersionsMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.sidemirror.v1.ListReflectionVersionsRequest,
              dev.sidemirror.v1.ListReflectionVersionsResponse>(
                service, METHODID_LIST_REFLECTION_VERSIONS)))
        .addMethod(
          getReviewReflectionMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.sidemirror.v1.ReviewReflectionRequest,
              dev.sidemirror.v1.ReviewReflectionResponse>(
                service, METHODID_REVIEW_REFLECTION)))
        .addMethod(
          getQueryReflectionsMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.sidemirror.v1.QueryReflectionsRequest,
              dev.sidemirror.v1.QueryReflectionsResponse>(
                service, METHODID_QUERY_REFLECTIONS)))
        .addMethod(
          getBuildMemoryContextMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.sidemirror.v1.BuildMemoryContextRequest,
              dev.sidemirror.v1.BuildMemoryContextResponse>(
                service, METHODID_BUILD_MEMORY_CONTEXT)))
        .addMethod(
          getReportOutcomeMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.sidemirror.v1.ReportOutcomeRequest,
              dev.sidemirror.v1.ReportOutcomeResponse>(
                service, METHODID_REPORT_OUTCOME)))
        .addMethod(
          getGetLessonStatisticsMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.sidemirror.v1.GetLessonStatisticsRequest,
              dev.sidemirror.v1.GetLessonStatisticsResponse>(
                service, METHODID_GET_LESSON_STATISTICS)))
        .addMethod(
          getDreamMethod(),
          io.grpc.stub.ServerCalls.asyncServerStreamingCall(
            new MethodHandlers<
              dev.sidemirror.v1.DreamRequest,
              dev.sidemirror.v1.DreamResponse>(
                service, METHODID_DREAM)))
        .addMethod(
          getListDreamsMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.sidemirror.v1.ListDreamsRequest,
              dev.sidemirror.v1.ListDreamsResponse>(
                service, METHODID_LIST_DREAMS)))
        .addMethod(
          getListPruningsMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.sidemirror.v1.ListPruningsRequest,
              dev.sidemirror.v1.ListPruningsResponse>(
                service, METHODID_LIST_PRUNINGS)))
        .addMethod(
          getExportReflectionsMethod(),
          io.grpc.stub.ServerCalls.asyncServerStreamingCall(
            new MethodHandlers<
              dev.sidemirror.v1.ExportReflectionsRequest,
              dev.sidemirror.v1.ExportReflectionsResponse>(
                service, METHODID_EXPORT_REFLECTIONS)))
        .addMethod(
          getImportReflectionsMethod(),
          io.grpc.stub.ServerCalls.asyncClientStreamingCall(
            new MethodHandlers<
              dev.sidemirror.v1.ImportReflectionsRequest,
              dev.sidemirror.v1.ImportReflectionsResponse>(
                service, METHODID_IMPORT_REFLECTIONS)))
        .addMethod(
          getListClustersMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.sidemirror.v1.ListClustersRequest,
              dev.sidemirror.v1.ListClustersResponse>(
                service, METHODID_LIST_CLUSTERS)))
        .addMethod(
          getLinkReflectionsMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.sidemirror.v1.LinkReflectionsRequest,
              dev.sidemirror.v1.LinkReflectionsResponse>(
                service, METHODID_LINK_REFLECTIONS)))
        .addMethod(
          getExploreGraphMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.sidemirror.v1.ExploreGraphRequest,
              dev.sidemirror.v1.ExploreGraphResponse>(
                service, METHODID_EXPLORE_GRAPH)))
        .build();
  }

  private static abstract class ReflectiveMemoryServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoFileDescriptorSupplier, io.grpc.protobuf.ProtoServiceDescriptorSupplier {
    ReflectiveMemoryServiceBaseDescriptorSupplier() {}

    @java.lang.Override
    public com.google.protobuf.Descriptors.FileDescriptor getFileDescriptor() {
      return dev.sidemirror.v1.ReflectiveMemoryProto.getDescriptor();
    }

    @java.lang.Override
    public com.google.protobuf.Descriptors.ServiceDescriptor getServiceDescriptor() {
      return getFileDescriptor().findServiceByName("ReflectiveMemoryService");
    }
  }

  private static final class ReflectiveMemoryServiceFileDescriptorSupplier
      extends ReflectiveMemoryServiceBaseDescriptorSupplier {
    ReflectiveMemoryServiceFileDescriptorSupplier() {}
  }

  private static final class ReflectiveMemoryServiceMethodDescriptorSupplier
      extends ReflectiveMemoryServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoMethodDescriptorSupplier {
    private final java.lang.String methodName;

    ReflectiveMemoryServiceMethodDescriptorSupplier(java.lang.String methodName) {
      this.methodName = methodName;
    }

    @java.lang.Override
    public com.google.protobuf.Descriptors.MethodDescriptor getMethodDescriptor() {
      return getServiceDescriptor().findMethodByName(methodName);
    }
  }

  private static volatile io.grpc.ServiceDescriptor serviceDescriptor;

  public static io.grpc.ServiceDescriptor getServiceDescriptor() {
    io.grpc.ServiceDescriptor result = serviceDescriptor;
    if (result == null) {
      synchronized (ReflectiveMemoryServiceGrpc.class) {
        result = serviceDescriptor;
        if (result == null) {
          serviceDescriptor = result = io.grpc.ServiceDescriptor.newBuilder(SERVICE_NAME)
              .setSchemaDescriptor(new ReflectiveMemoryServiceFileDescriptorSupplier())
              .addMethod(getGenerateReflectionMethod())
              .addMethod(getStoreReflectionMethod())
              .addMethod(getGetReflectionMethod())
              .addMethod(getListReflectionsMethod())
              .addMethod(getUpdateReflectionMethod())
              .addMethod(getDeleteReflectionMethod())
              .addMethod(getListReflectionVersionsMethod())
              .addMethod(getReviewReflectionMethod())
              .addMethod(getQueryReflectionsMethod())
              .addMethod(getBuildMemoryContextMethod())
              .addMethod(getReportOutcomeMethod())
              .addMethod(getGetLessonStatisticsMethod())
              .addMethod(getDreamMethod())
              .addMethod(getListDreamsMethod())
              .addMethod(getListPruningsMethod())
              .addMethod(getExportReflectionsMethod())
              .addMethod(getImportReflectionsMethod())
              .addMethod(getListClustersMethod())
              .addMethod(getLinkReflectionsMethod())
              .addMethod(getExploreGraphMethod())
              .build();
        }
      }
    }
    return result;
  }
}
