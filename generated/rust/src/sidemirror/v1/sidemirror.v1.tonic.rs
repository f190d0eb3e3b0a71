// @generated
/// Generated client implementations.
pub mod thinking_service_client {
    #![allow(
        unused_variables,
        dead_code,
        missing_docs,
        clippy::wildcard_imports,
        clippy::let_unit_value,
    )]
    use tonic::codegen::*;
    use tonic::codegen::http::Uri;
    #[derive(Debug, Clone)]
    pub struct ThinkingServiceClient<T> {
        inner: tonic::client::Grpc<T>,
    }
    impl ThinkingServiceClient<tonic::transport::Channel> {
        /// Attempt to create a new client by connecting to a given endpoint.
        pub async fn connect<D>(dst: D) -> Result<Self, tonic::transport::Error>
        where
            D: TryInto<tonic::transport::Endpoint>,
            D::Error: Into<StdError>,
        {
            let conn = tonic::transport::Endpoint::new(dst)?.connect().await?;
            Ok(Self::new(conn))
        }
    }
    impl<T> ThinkingServiceClient<T>
    where
        T: tonic::client::GrpcService<tonic::body::Body>,
        T::Error: Into<StdError>,
        T::ResponseBody: Body<Data = Bytes> + std::marker::Send + 'static,
        <T::ResponseBody as Body>::Error: Into<StdError> + std::marker::Send,
    {
        pub fn new(inner: T) -> Self {
            let inner = tonic::client::Grpc::new(inner);
            Self { inner }
        }
        pub fn with_origin(inner: T, origin: Uri) -> Self {
            let inner = tonic::client::Grpc::with_origin(inner, origin);
            Self { inner }
        }
        pub fn with_interceptor<F>(
            inner: T,
            interceptor: F,
        ) -> ThinkingServiceClient<InterceptedService<T, F>>
        where
            F: tonic::service::Interceptor,
            T::ResponseBody: Default,
            T: tonic::codegen::Service<
                http::Request<tonic::body::Body>,
                Response = http::Response<
                    <T as tonic::client::GrpcService<tonic::body::Body>>::ResponseBody,
                >,
            >,
            <T as tonic::codegen::Service<
                http::Request<tonic::body::Body>,
            >>::Error: Into<StdError> + std::marker::Send + std::marker::Sync,
        {
            ThinkingServiceClient::new(InterceptedService::new(inner, interceptor))
        }
        /// Compress requests with the given encoding.
        ///
        /// This requires the server to support it otherwise it might respond with an
        /// error.
        #[must_use]
        pub fn send_compressed(mut self, encoding: CompressionEncoding) -> Self {
            self.inner = self.inner.send_compressed(encoding);
            self
        }
        /// Enable decompressing responses.
        #[must_use]
        pub fn accept_compressed(mut self, encoding: CompressionEncoding) -> Self {
            self.inner = self.inner.accept_compressed(encoding);
            self
        }
        /// Limits the maximum size of a decoded message.
        ///
        /// Default: `4MB`
        #[must_use]
        pub fn max_decoding_message_size(mut self, limit: usize) -> Self {
            self.inner = self.inner.max_decoding_message_size(limit);
            self
        }
        /// Limits the maximum size of an encoded message.
        ///
        /// Default: `usize::MAX`
        #[must_use]
        pub fn max_encoding_message_size(mut self, limit: usize) -> Self {
            self.inner = self.inner.max_encoding_message_size(limit);
            self
        }
        pub async fn create_session(
            &mut self,
            request: impl tonic::IntoRequest<super::CreateSessionRequest>,
        ) -> std::result::Result<
            tonic::Response<super::CreateSessionResponse>,
            tonic::Status,
        > {
            self.inner
                .ready()
                .await
                .map_err(|e| {
                    tonic::Status::unknown(
                        format!("Service was not ready: {}", e.into()),
                    )
                })?;
            let codec = tonic_prost::ProstCodec::default();
            let path = http::uri::PathAndQuery::from_static(
                "/sidemirror.v1.ThinkingService/CreateSession",
            );
            let mut req = request.into_request();
            req.extensions_mut()
                .insert(
                    GrpcMethod::new("sidemirror.v1.ThinkingService", "CreateSession"),
                );
            self.inner.unary(req, path, codec).await
        }
        pub async fn get_session(
            &mut self,
            request: impl tonic::IntoRequest<super::GetSessionRequest>,
        ) -> std::result::Result<
            tonic::Response<super::GetSessionResponse>,
            tonic::Status,
        > {
            self.inner
                .ready()
                .await
                .map_err(|e| {
                    tonic::Status::unknown(
                        format!("Service was not ready: {}", e.into()),
                    )
                })?;
            let codec = tonic_prost::ProstCodec::default();
            let path = http::uri::PathAndQuery::from_static(
                "/sidemirror.v1.ThinkingService/GetSession",
            );
            let mut req = request.into_request();
            req.extensions_mut()
                .insert(GrpcMethod::new("sidemirror.v1.ThinkingService", "GetSession"));
            self.inner.unary(req, path, codec).await
        }
        pub async fn update_session(
            &mut self,
            request: impl tonic::IntoRequest<super::UpdateSessionRequest>,
        ) -> std::result::Result<
            tonic::Response<super::UpdateSessionResponse>,
            tonic::Status,
        > {
            self.inner
                .ready()
                .await
                .map_err(|e| {
                    tonic::Status::unknown(
                        format!("Service was not ready: {}", e.into()),
                    )
                })?;
            let codec = tonic_prost::ProstCodec::default();
            let path = http::uri::PathAndQuery::from_static(
                "/sidemirror.v1.ThinkingService/UpdateSession",
            );
            let mut req = request.into_request();
            req.extensions_mut()
                .insert(
                    GrpcMethod::new("sidemirror.v1.ThinkingService", "UpdateSession"),
                );
            self.inner.unary(req, path, codec).await
        }
        pub async fn list_sessions(
            &mut self,
            request: impl tonic::IntoRequest<super::ListSessionsRequest>,
        ) -> std::result::Result<
            tonic::Response<super::ListSessionsResponse>,
            tonic::Status,
        > {
            self.inner
                .ready()
                .await
                .map_err(|e| {
                    tonic::Status::unknown(
                        format!("Service was not ready: {}", e.into()),
                    )
                })?;
            let codec = tonic_prost::ProstCodec::default();
            let path = http::uri::PathAndQuery::from_static(
                "/sidemirror.v1.ThinkingService/ListSessions",
            );
            let mut req = request.into_request();
            req.extensions_mut()
                .insert(
                    GrpcMethod::new("sidemirror.v1.ThinkingService", "ListSessions"),
                );
            self.inner.unary(req, path, codec).await
        }
        pub async fn delete_session(
            &mut self,
            request: impl tonic::IntoRequest<super::DeleteSessionRequest>,
        ) -> std::result::Result<
            tonic::Response<super::DeleteSessionResponse>,
            tonic::Status,
        > {
            self.inner
                .ready()
                .await
                .map_err(|e| {
                    tonic::Status::unknown(
                        format!("Service was not ready: {}", e.into()),
                    )
                })?;
            let codec = tonic_prost::ProstCodec::default();
            let path = http::uri::PathAndQuery::from_static(
                "/sidemirror.v1.ThinkingService/DeleteSession",
            );
            let mut req = request.into_request();
            req.extensions_mut()
                .insert(
                    GrpcMethod::new("sidemirror.v1.ThinkingService", "DeleteSession"),
                );
            self.inner.unary(req, path, codec).await
        }
        pub async fn get_thinking_prompt(
            &mut self,
            request: impl tonic::IntoRequest<super::GetThinkingPromptRequest>,
        ) -> std::result::Result<
            tonic::Response<super::GetThinkingPromptResponse>,
            tonic::Status,
        > {
            self.inner
                .ready()
                .await
                .map_err(|e| {
                    tonic::Status::unknown(
                        format!("Service was not ready: {}", e.into()),
                    )
                })?;
            let codec = tonic_prost::ProstCodec::default();
            let path = http::uri::PathAndQuery::from_static(
                "/sidemirror.v1.ThinkingService/GetThinkingPrompt",
            );
            let mut req = request.into_request();
            req.extensions_mut()
                .insert(
                    GrpcMethod::new("sidemirror.v1.ThinkingService", "GetThinkingPrompt"),
                );
            self.inner.unary(req, path, codec).await
        }
        pub async fn run_turn(
            &mut self,
            request: impl tonic::IntoStreamingRequest<Message = super::RunTurnRequest>,
        ) -> std::result::Result<
            tonic::Response<tonic::codec::Streaming<super::RunTurnResponse>>,
            tonic::Status,
        > {
            self.inner
                .ready()
                .await
                .map_err(|e| {
                    tonic::Status::unknown(
                        format!("Service was not ready: {}", e.into()),
                    )
                })?;
            let codec = tonic_prost::ProstCodec::default();
            let path = http::uri::PathAndQuery::from_static(
                "/sidemirror.v1.ThinkingService/RunTurn",
            );
            let mut req = request.into_streaming_request();
            req.extensions_mut()
                .insert(GrpcMethod::new("sidemirror.v1.ThinkingService", "RunTurn"));
            self.inner.streaming(req, path, codec).await
        }
        pub async fn start_turn(
            &mut self,
            request: impl tonic::IntoRequest<super::StartTurnRequest>,
        ) -> std::result::Result<
            tonic::Response<super::StartTurnResponse>,
            tonic::Status,
        > {
            self.inner
                .ready()
                .await
                .map_err(|e| {
                    tonic::Status::unknown(
                        format!("Service was not ready: {}", e.into()),
                    )
                })?;
            let codec = tonic_prost::ProstCodec::default();
            let path = http::uri::PathAndQuery::from_static(
                "/sidemirror.v1.ThinkingService/StartTurn",
            );
            let mut req = request.into_request();
            req.extensions_mut()
                .insert(GrpcMethod::new("sidemirror.v1.ThinkingService", "StartTurn"));
            self.inner.unary(req, path, codec).await
        }
        pub async fn report_events(
            &mut self,
            request: impl tonic::IntoRequest<super::ReportEventsRequest>,
        ) -> std::result::Result<
            tonic::Response<super::ReportEventsResponse>,
            tonic::Status,
        > {
            self.inner
                .ready()
                .await
                .map_err(|e| {
                    tonic::Status::unknown(
                        format!("Service was not ready: {}", e.into()),
                    )
                })?;
            let codec = tonic_prost::ProstCodec::default();
            let path = http::uri::PathAndQuery::from_static(
                "/sidemirror.v1.ThinkingService/ReportEvents",
            );
            let mut req = request.into_request();
            req.extensions_mut()
                .insert(
                    GrpcMethod::new("sidemirror.v1.ThinkingService", "ReportEvents"),
                );
            self.inner.unary(req, path, codec).await
        }
        pub async fn finish_turn(
            &mut self,
            request: impl tonic::IntoRequest<super::FinishTurnRequest>,
        ) -> std::result::Result<
            tonic::Response<super::FinishTurnResponse>,
            tonic::Status,
        > {
            self.inner
                .ready()
                .await
                .map_err(|e| {
                    tonic::Status::unknown(
                        format!("Service was not ready: {}", e.into()),
                    )
                })?;
            let codec = tonic_prost::ProstCodec::default();
            let path = http::uri::PathAndQuery::from_static(
                "/sidemirror.v1.ThinkingService/FinishTurn",
            );
            let mut req = request.into_request();
            req.extensions_mut()
                .insert(GrpcMethod::new("sidemirror.v1.ThinkingService", "FinishTurn"));
            self.inner.unary(req, path, codec).await
        }
        pub async fn get_turn(
            &mut self,
            request: impl tonic::IntoRequest<super::GetTurnRequest>,
        ) -> std::result::Result<
            tonic::Response<super::GetTurnResponse>,
            tonic::Status,
        > {
            self.inner
                .ready()
                .await
                .map_err(|e| {
                    tonic::Status::unknown(
                        format!("Service was not ready: {}", e.into()),
                    )
                })?;
            let codec = tonic_prost::ProstCodec::default();
            let path = http::uri::PathAndQuery::from_static(
                "/sidemirror.v1.ThinkingService/GetTurn",
            );
            let mut req = request.into_request();
            req.extensions_mut()
                .insert(GrpcMethod::new("sidemirror.v1.ThinkingService", "GetTurn"));
            self.inner.unary(req, path, codec).await
        }
        pub async fn watch_turns(
            &mut self,
            request: impl tonic::IntoRequest<super::WatchTurnsRequest>,
        ) -> std::result::Result<
            tonic::Response<tonic::codec::Streaming<super::WatchTurnsResponse>>,
            tonic::Status,
        > {
            self.inner
                .ready()
                .await
                .map_err(|e| {
                    tonic::Status::unknown(
                        format!("Service was not ready: {}", e.into()),
                    )
                })?;
            let codec = tonic_prost::ProstCodec::default();
            let path = http::uri::PathAndQuery::from_static(
                "/sidemirror.v1.ThinkingService/WatchTurns",
            );
            let mut req = request.into_request();
            req.extensions_mut()
                .insert(GrpcMethod::new("sidemirror.v1.ThinkingService", "WatchTurns"));
            self.inner.server_streaming(req, path, codec).await
        }
        pub async fn list_turns(
            &mut self,
            request: impl tonic::IntoRequest<super::ListTurnsRequest>,
        ) -> std::result::Result<
            tonic::Response<super::ListTurnsResponse>,
            tonic::Status,
        > {
            self.inner
                .ready()
                .await
                .map_err(|e| {
                    tonic::Status::unknown(
                        format!("Service was not ready: {}", e.into()),
                    )
                })?;
            let codec = tonic_prost::ProstCodec::default();
            let path = http::uri::PathAndQuery::from_static(
                "/sidemirror.v1.ThinkingService/ListTurns",
            );
            let mut req = request.into_request();
            req.extensions_mut()
                .insert(GrpcMethod::new("sidemirror.v1.ThinkingService", "ListTurns"));
            self.inner.unary(req, path, codec).await
        }
        pub async fn should_reflect(
            &mut self,
            request: impl tonic::IntoRequest<super::ShouldReflectRequest>,
        ) -> std::result::Result<
            tonic::Response<super::ShouldReflectResponse>,
            tonic::Status,
        > {
            self.inner
                .ready()
                .await
                .map_err(|e| {
                    tonic::Status::unknown(
                        format!("Service was not ready: {}", e.into()),
                    )
                })?;
            let codec = tonic_prost::ProstCodec::default();
            let path = http::uri::PathAndQuery::from_static(
                "/sidemirror.v1.ThinkingService/ShouldReflect",
            );
            let mut req = request.into_request();
            req.extensions_mut()
                .insert(
                    GrpcMethod::new("sidemirror.v1.ThinkingService", "ShouldReflect"),
                );
            self.inner.unary(req, path, codec).await
        }
        pub async fn reflect(
            &mut self,
            request: impl tonic::IntoRequest<super::ReflectRequest>,
        ) -> std::result::Result<
            tonic::Response<super::ReflectResponse>,
            tonic::Status,
        > {
            self.inner
                .ready()
                .await
                .map_err(|e| {
                    tonic::Status::unknown(
                        format!("Service was not ready: {}", e.into()),
                    )
                })?;
            let codec = tonic_prost::ProstCodec::default();
            let path = http::uri::PathAndQuery::from_static(
                "/sidemirror.v1.ThinkingService/Reflect",
            );
            let mut req = request.into_request();
            req.extensions_mut()
                .insert(GrpcMethod::new("sidemirror.v1.ThinkingService", "Reflect"));
            self.inner.unary(req, path, codec).await
        }
        pub async fn get_reflection_prompt(
            &mut self,
            request: impl tonic::IntoRequest<super::GetReflectionPromptRequest>,
        ) -> std::result::Result<
            tonic::Response<super::GetReflectionPromptResponse>,
            tonic::Status,
        > {
            self.inner
                .ready()
                .await
                .map_err(|e| {
                    tonic::Status::unknown(
                        format!("Service was not ready: {}", e.into()),
                    )
                })?;
            let codec = tonic_prost::ProstCodec::default();
            let path = http::uri::PathAndQuery::from_static(
                "/sidemirror.v1.ThinkingService/GetReflectionPrompt",
            );
            let mut req = request.into_request();
            req.extensions_mut()
                .insert(
                    GrpcMethod::new(
                        "sidemirror.v1.ThinkingService",
                        "GetReflectionPrompt",
                    ),
                );
            self.inner.unary(req, path, codec).await
        }
    }
}
/// Generated client implementations.
pub mod critique_service_client {
    #![allow(
        unused_variables,
        dead_code,
        missing_docs,
        clippy::wildcard_imports,
        clippy::let_unit_value,
    )]
    use tonic::codegen::*;
    use tonic::codegen::http::Uri;
    #[derive(Debug, Clone)]
    pub struct CritiqueServiceClient<T> {
        inner: tonic::client::Grpc<T>,
    }
    impl CritiqueServiceClient<tonic::transport::Channel> {
        /// Attempt to create a new client by connecting to a given endpoint.
        pub async fn connect<D>(dst: D) -> Result<Self, tonic::transport::Error>
        where
            D: TryInto<tonic::transport::Endpoint>,
            D::Error: Into<StdError>,
        {
            let conn = tonic::transport::Endpoint::new(dst)?.connect().await?;
            Ok(Self::new(conn))
        }
    }
    impl<T> CritiqueServiceClient<T>
    where
        T: tonic::client::GrpcService<tonic::body::Body>,
        T::Error: Into<StdError>,
        T::ResponseBody: Body<Data = Bytes> + std::marker::Send + 'static,
        <T::ResponseBody as Body>::Error: Into<StdError> + std::marker::Send,
    {
        pub fn new(inner: T) -> Self {
            let inner = tonic::client::Grpc::new(inner);
            Self { inner }
        }
        pub fn with_origin(inner: T, origin: Uri) -> Self {
            let inner = tonic::client::Grpc::with_origin(inner, origin);
            Self { inner }
        }
        pub fn with_interceptor<F>(
            inner: T,
            interceptor: F,
        ) -> CritiqueServiceClient<InterceptedService<T, F>>
        where
            F: tonic::service::Interceptor,
            T::ResponseBody: Default,
            T: tonic::codegen::Service<
                http::Request<tonic::body::Body>,
                Response = http::Response<
                    <T as tonic::client::GrpcService<tonic::body::Body>>::ResponseBody,
                >,
            >,
            <T as tonic::codegen::Service<
                http::Request<tonic::body::Body>,
            >>::Error: Into<StdError> + std::marker::Send + std::marker::Sync,
        {
            CritiqueServiceClient::new(InterceptedService::new(inner, interceptor))
        }
        /// Compress requests with the given encoding.
        ///
        /// This requires the server to support it otherwise it might respond with an
        /// error.
        #[must_use]
        pub fn send_compressed(mut self, encoding: CompressionEncoding) -> Self {
            self.inner = self.inner.send_compressed(encoding);
            self
        }
        /// Enable decompressing responses.
        #[must_use]
        pub fn accept_compressed(mut self, encoding: CompressionEncoding) -> Self {
            self.inner = self.inner.accept_compressed(encoding);
            self
        }
        /// Limits the maximum size of a decoded message.
        ///
        /// Default: `4MB`
        #[must_use]
        pub fn max_decoding_message_size(mut self, limit: usize) -> Self {
            self.inner = self.inner.max_decoding_message_size(limit);
            self
        }
        /// Limits the maximum size of an encoded message.
        ///
        /// Default: `usize::MAX`
        #[must_use]
        pub fn max_encoding_message_size(mut self, limit: usize) -> Self {
            self.inner = self.inner.max_encoding_message_size(limit);
            self
        }
        pub async fn should_critique(
            &mut self,
            request: impl tonic::IntoRequest<super::ShouldCritiqueRequest>,
        ) -> std::result::Result<
            tonic::Response<super::ShouldCritiqueResponse>,
            tonic::Status,
        > {
            self.inner
                .ready()
                .await
                .map_err(|e| {
                    tonic::Status::unknown(
                        format!("Service was not ready: {}", e.into()),
                    )
                })?;
            let codec = tonic_prost::ProstCodec::default();
            let path = http::uri::PathAndQuery::from_static(
                "/sidemirror.v1.CritiqueService/ShouldCritique",
            );
            let mut req = request.into_request();
            req.extensions_mut()
                .insert(
                    GrpcMethod::new("sidemirror.v1.CritiqueService", "ShouldCritique"),
                );
            self.inner.unary(req, path, codec).await
        }
        pub async fn critique(
            &mut self,
            request: impl tonic::IntoRequest<super::CritiqueRequest>,
        ) -> std::result::Result<
            tonic::Response<super::CritiqueResponse>,
            tonic::Status,
        > {
            self.inner
                .ready()
                .await
                .map_err(|e| {
                    tonic::Status::unknown(
                        format!("Service was not ready: {}", e.into()),
                    )
                })?;
            let codec = tonic_prost::ProstCodec::default();
            let path = http::uri::PathAndQuery::from_static(
                "/sidemirror.v1.CritiqueService/Critique",
            );
            let mut req = request.into_request();
            req.extensions_mut()
                .insert(GrpcMethod::new("sidemirror.v1.CritiqueService", "Critique"));
            self.inner.unary(req, path, codec).await
        }
        pub async fn revise(
            &mut self,
            request: impl tonic::IntoRequest<super::ReviseRequest>,
        ) -> std::result::Result<
            tonic::Response<tonic::codec::Streaming<super::ReviseResponse>>,
            tonic::Status,
        > {
            self.inner
                .ready()
                .await
                .map_err(|e| {
                    tonic::Status::unknown(
                        format!("Service was not ready: {}", e.into()),
                    )
                })?;
            let codec = tonic_prost::ProstCodec::default();
            let path = http::uri::PathAndQuery::from_static(
                "/sidemirror.v1.CritiqueService/Revise",
            );
            let mut req = request.into_request();
            req.extensions_mut()
                .insert(GrpcMethod::new("sidemirror.v1.CritiqueService", "Revise"));
            self.inner.server_streaming(req, path, codec).await
        }
        pub async fn evaluate_trace(
            &mut self,
            request: impl tonic::IntoRequest<super::EvaluateTraceRequest>,
        ) -> std::result::Result<
            tonic::Response<super::EvaluateTraceResponse>,
            tonic::Status,
        > {
            self.inner
                .ready()
                .await
                .map_err(|e| {
                    tonic::Status::unknown(
                        format!("Service was not ready: {}", e.into()),
                    )
                })?;
            let codec = tonic_prost::ProstCodec::default();
            let path = http::uri::PathAndQuery::from_static(
                "/sidemirror.v1.CritiqueService/EvaluateTrace",
            );
            let mut req = request.into_request();
            req.extensions_mut()
                .insert(
                    GrpcMethod::new("sidemirror.v1.CritiqueService", "EvaluateTrace"),
                );
            self.inner.unary(req, path, codec).await
        }
        pub async fn debate(
            &mut self,
            request: impl tonic::IntoRequest<super::DebateRequest>,
        ) -> std::result::Result<
            tonic::Response<tonic::codec::Streaming<super::DebateResponse>>,
            tonic::Status,
        > {
            self.inner
                .ready()
                .await
                .map_err(|e| {
                    tonic::Status::unknown(
                        format!("Service was not ready: {}", e.into()),
                    )
                })?;
            let codec = tonic_prost::ProstCodec::default();
            let path = http::uri::PathAndQuery::from_static(
                "/sidemirror.v1.CritiqueService/Debate",
            );
            let mut req = request.into_request();
            req.extensions_mut()
                .insert(GrpcMethod::new("sidemirror.v1.CritiqueService", "Debate"));
            self.inner.server_streaming(req, path, codec).await
        }
        pub async fn list_critiques(
            &mut self,
            request: impl tonic::IntoRequest<super::ListCritiquesRequest>,
        ) -> std::result::Result<
            tonic::Response<super::ListCritiquesResponse>,
            tonic::Status,
        > {
            self.inner
                .ready()
                .await
                .map_err(|e| {
                    tonic::Status::unknown(
                        format!("Service was not ready: {}", e.into()),
                    )
                })?;
            let codec = tonic_prost::ProstCodec::default();
            let path = http::uri::PathAndQuery::from_static(
                "/sidemirror.v1.CritiqueService/ListCritiques",
            );
            let mut req = request.into_request();
            req.extensions_mut()
                .insert(
                    GrpcMethod::new("sidemirror.v1.CritiqueService", "ListCritiques"),
                );
            self.inner.unary(req, path, codec).await
        }
        pub async fn get_critique_statistics(
            &mut self,
            request: impl tonic::IntoRequest<super::GetCritiqueStatisticsRequest>,
        ) -> std::result::Result<
            tonic::Response<super::GetCritiqueStatisticsResponse>,
            tonic::Status,
        > {
            self.inner
                .ready()
                .await
                .map_err(|e| {
                    tonic::Status::unknown(
                        format!("Service was not ready: {}", e.into()),
                    )
                })?;
            let codec = tonic_prost::ProstCodec::default();
            let path = http::uri::PathAndQuery::from_static(
                "/sidemirror.v1.CritiqueService/GetCritiqueStatistics",
            );
            let mut req = request.into_request();
            req.extensions_mut()
                .insert(
                    GrpcMethod::new(
                        "sidemirror.v1.CritiqueService",
                        "GetCritiqueStatistics",
                    ),
                );
            self.inner.unary(req, path, codec).await
        }
        pub async fn report_critique_outcome(
            &mut self,
            request: impl tonic::IntoRequest<super::ReportCritiqueOutcomeRequest>,
        ) -> std::result::Result<
            tonic::Response<super::ReportCritiqueOutcomeResponse>,
            tonic::Status,
        > {
            self.inner
                .ready()
                .await
                .map_err(|e| {
                    tonic::Status::unknown(
                        format!("Service was not ready: {}", e.into()),
                    )
                })?;
            let codec = tonic_prost::ProstCodec::default();
            let path = http::uri::PathAndQuery::from_static(
                "/sidemirror.v1.CritiqueService/ReportCritiqueOutcome",
            );
            let mut req = request.into_request();
            req.extensions_mut()
                .insert(
                    GrpcMethod::new(
                        "sidemirror.v1.CritiqueService",
                        "ReportCritiqueOutcome",
                    ),
                );
            self.inner.unary(req, path, codec).await
        }
    }
}
/// Generated client implementations.
pub mod goal_reflection_service_client {
    #![allow(
        unused_variables,
        dead_code,
        missing_docs,
        clippy::wildcard_imports,
        clippy::let_unit_value,
    )]
    use tonic::codegen::*;
    use tonic::codegen::http::Uri;
    #[derive(Debug, Clone)]
    pub struct GoalReflectionServiceClient<T> {
        inner: tonic::client::Grpc<T>,
    }
    impl GoalReflectionServiceClient<tonic::transport::Channel> {
        /// Attempt to create a new client by connecting to a given endpoint.
        pub async fn connect<D>(dst: D) -> Result<Self, tonic::transport::Error>
        where
            D: TryInto<tonic::transport::Endpoint>,
            D::Error: Into<StdError>,
        {
            let conn = tonic::transport::Endpoint::new(dst)?.connect().await?;
            Ok(Self::new(conn))
        }
    }
    impl<T> GoalReflectionServiceClient<T>
    where
        T: tonic::client::GrpcService<tonic::body::Body>,
        T::Error: Into<StdError>,
        T::ResponseBody: Body<Data = Bytes> + std::marker::Send + 'static,
        <T::ResponseBody as Body>::Error: Into<StdError> + std::marker::Send,
    {
        pub fn new(inner: T) -> Self {
            let inner = tonic::client::Grpc::new(inner);
            Self { inner }
        }
        pub fn with_origin(inner: T, origin: Uri) -> Self {
            let inner = tonic::client::Grpc::with_origin(inner, origin);
            Self { inner }
        }
        pub fn with_interceptor<F>(
            inner: T,
            interceptor: F,
        ) -> GoalReflectionServiceClient<InterceptedService<T, F>>
        where
            F: tonic::service::Interceptor,
            T::ResponseBody: Default,
            T: tonic::codegen::Service<
                http::Request<tonic::body::Body>,
                Response = http::Response<
                    <T as tonic::client::GrpcService<tonic::body::Body>>::ResponseBody,
                >,
            >,
            <T as tonic::codegen::Service<
                http::Request<tonic::body::Body>,
            >>::Error: Into<StdError> + std::marker::Send + std::marker::Sync,
        {
            GoalReflectionServiceClient::new(InterceptedService::new(inner, interceptor))
        }
        /// Compress requests with the given encoding.
        ///
        /// This requires the server to support it otherwise it might respond with an
        /// error.
        #[must_use]
        pub fn send_compressed(mut self, encoding: CompressionEncoding) -> Self {
            self.inner = self.inner.send_compressed(encoding);
            self
        }
        /// Enable decompressing responses.
        #[must_use]
        pub fn accept_compressed(mut self, encoding: CompressionEncoding) -> Self {
            self.inner = self.inner.accept_compressed(encoding);
            self
        }
        /// Limits the maximum size of a decoded message.
        ///
        /// Default: `4MB`
        #[must_use]
        pub fn max_decoding_message_size(mut self, limit: usize) -> Self {
            self.inner = self.inner.max_decoding_message_size(limit);
            self
        }
        /// Limits the maximum size of an encoded message.
        ///
        /// Default: `usize::MAX`
        #[must_use]
        pub fn max_encoding_message_size(mut self, limit: usize) -> Self {
            self.inner = self.inner.max_encoding_message_size(limit);
            self
        }
        pub async fn report_goal(
            &mut self,
            request: impl tonic::IntoRequest<super::ReportGoalRequest>,
        ) -> std::result::Result<
            tonic::Response<super::ReportGoalResponse>,
            tonic::Status,
        > {
            self.inner
                .ready()
                .await
                .map_err(|e| {
                    tonic::Status::unknown(
                        format!("Service was not ready: {}", e.into()),
                    )
                })?;
            let codec = tonic_prost::ProstCodec::default();
            let path = http::uri::PathAndQuery::from_static(
                "/sidemirror.v1.GoalReflectionService/ReportGoal",
            );
            let mut req = request.into_request();
            req.extensions_mut()
                .insert(
                    GrpcMethod::new("sidemirror.v1.GoalReflectionService", "ReportGoal"),
                );
            self.inner.unary(req, path, codec).await
        }
        pub async fn list_goal_reports(
            &mut self,
            request: impl tonic::IntoRequest<super::ListGoalReportsRequest>,
        ) -> std::result::Result<
            tonic::Response<super::ListGoalReportsResponse>,
            tonic::Status,
        > {
            self.inner
                .ready()
                .await
                .map_err(|e| {
                    tonic::Status::unknown(
                        format!("Service was not ready: {}", e.into()),
                    )
                })?;
            let codec = tonic_prost::ProstCodec::default();
            let path = http::uri::PathAndQuery::from_static(
                "/sidemirror.v1.GoalReflectionService/ListGoalReports",
            );
            let mut req = request.into_request();
            req.extensions_mut()
                .insert(
                    GrpcMethod::new(
                        "sidemirror.v1.GoalReflectionService",
                        "ListGoalReports",
                    ),
                );
            self.inner.unary(req, path, codec).await
        }
        pub async fn retry_goal_report(
            &mut self,
            request: impl tonic::IntoRequest<super::RetryGoalReportRequest>,
        ) -> std::result::Result<
            tonic::Response<super::RetryGoalReportResponse>,
            tonic::Status,
        > {
            self.inner
                .ready()
                .await
                .map_err(|e| {
                    tonic::Status::unknown(
                        format!("Service was not ready: {}", e.into()),
                    )
                })?;
            let codec = tonic_prost::ProstCodec::default();
            let path = http::uri::PathAndQuery::from_static(
                "/sidemirror.v1.GoalReflectionService/RetryGoalReport",
            );
            let mut req = request.into_request();
            req.extensions_mut()
                .insert(
                    GrpcMethod::new(
                        "sidemirror.v1.GoalReflectionService",
                        "RetryGoalReport",
                    ),
                );
            self.inner.unary(req, path, codec).await
        }
        pub async fn get_goal_reflections(
            &mut self,
            request: impl tonic::IntoRequest<super::GetGoalReflectionsRequest>,
        ) -> std::result::Result<
            tonic::Response<super::GetGoalReflectionsResponse>,
            tonic::Status,
        > {
            self.inner
                .ready()
                .await
                .map_err(|e| {
                    tonic::Status::unknown(
                        format!("Service was not ready: {}", e.into()),
                    )
                })?;
            let codec = tonic_prost::ProstCodec::default();
            let path = http::uri::PathAndQuery::from_static(
                "/sidemirror.v1.GoalReflectionService/GetGoalReflections",
            );
            let mut req = request.into_request();
            req.extensions_mut()
                .insert(
                    GrpcMethod::new(
                        "sidemirror.v1.GoalReflectionService",
                        "GetGoalReflections",
                    ),
                );
            self.inner.unary(req, path, codec).await
        }
        pub async fn list_recent_goals(
            &mut self,
            request: impl tonic::IntoRequest<super::ListRecentGoalsRequest>,
        ) -> std::result::Result<
            tonic::Response<super::ListRecentGoalsResponse>,
            tonic::Status,
        > {
            self.inner
                .ready()
                .await
                .map_err(|e| {
                    tonic::Status::unknown(
                        format!("Service was not ready: {}", e.into()),
                    )
                })?;
            let codec = tonic_prost::ProstCodec::default();
            let path = http::uri::PathAndQuery::from_static(
                "/sidemirror.v1.GoalReflectionService/ListRecentGoals",
            );
            let mut req = request.into_request();
            req.extensions_mut()
                .insert(
                    GrpcMethod::new(
                        "sidemirror.v1.GoalReflectionService",
                        "ListRecentGoals",
                    ),
                );
            self.inner.unary(req, path, codec).await
        }
        pub async fn delete_goal_reflections(
            &mut self,
            request: impl tonic::IntoRequest<super::DeleteGoalReflectionsRequest>,
        ) -> std::result::Result<
            tonic::Response<super::DeleteGoalReflectionsResponse>,
            tonic::Status,
        > {
            self.inner
                .ready()
                .await
                .map_err(|e| {
                    tonic::Status::unknown(
                        format!("Service was not ready: {}", e.into()),
                    )
                })?;
            let codec = tonic_prost::ProstCodec::default();
            let path = http::uri::PathAndQuery::from_static(
                "/sidemirror.v1.GoalReflectionService/DeleteGoalReflections",
            );
            let mut req = request.into_request();
            req.extensions_mut()
                .insert(
                    GrpcMethod::new(
                        "sidemirror.v1.GoalReflectionService",
                        "DeleteGoalReflections",
                    ),
                );
            self.inner.unary(req, path, codec).await
        }
        pub async fn build_goal_context(
            &mut self,
            request: impl tonic::IntoRequest<super::BuildGoalContextRequest>,
        ) -> std::result::Result<
            tonic::Response<super::BuildGoalContextResponse>,
            tonic::Status,
        > {
            self.inner
                .ready()
                .await
                .map_err(|e| {
                    tonic::Status::unknown(
                        format!("Service was not ready: {}", e.into()),
                    )
                })?;
            let codec = tonic_prost::ProstCodec::default();
            let path = http::uri::PathAndQuery::from_static(
                "/sidemirror.v1.GoalReflectionService/BuildGoalContext",
            );
            let mut req = request.into_request();
            req.extensions_mut()
                .insert(
                    GrpcMethod::new(
                        "sidemirror.v1.GoalReflectionService",
                        "BuildGoalContext",
                    ),
                );
            self.inner.unary(req, path, codec).await
        }
        pub async fn watch_goal_reflections(
            &mut self,
            request: impl tonic::IntoRequest<super::WatchGoalReflectionsRequest>,
        ) -> std::result::Result<
            tonic::Response<
                tonic::codec::Streaming<super::WatchGoalReflectionsResponse>,
            >,
            tonic::Status,
        > {
            self.inner
                .ready()
                .await
                .map_err(|e| {
                    tonic::Status::unknown(
                        format!("Service was not ready: {}", e.into()),
                    )
                })?;
            let codec = tonic_prost::ProstCodec::default();
            let path = http::uri::PathAndQuery::from_static(
                "/sidemirror.v1.GoalReflectionService/WatchGoalReflections",
            );
            let mut req = request.into_request();
            req.extensions_mut()
                .insert(
                    GrpcMethod::new(
                        "sidemirror.v1.GoalReflectionService",
                        "WatchGoalReflections",
                    ),
                );
            self.inner.server_streaming(req, path, codec).await
        }
    }
}
/// Generated client implementations.
pub mod reflective_memory_service_client {
    #![allow(
        unused_variables,
        dead_code,
        missing_docs,
        clippy::wildcard_imports,
        clippy::let_unit_value,
    )]
    use tonic::codegen::*;
    use tonic::codegen::http::Uri;
    #[derive(Debug, Clone)]
    pub struct ReflectiveMemoryServiceClient<T> {
        inner: tonic::client::Grpc<T>,
    }
    impl ReflectiveMemoryServiceClient<tonic::transport::Channel> {
        /// Attempt to create a new client by connecting to a given endpoint.
        pub async fn connect<D>(dst: D) -> Result<Self, tonic::transport::Error>
        where
            D: TryInto<tonic::transport::Endpoint>,
            D::Error: Into<StdError>,
        {
            let conn = tonic::transport::Endpoint::new(dst)?.connect().await?;
            Ok(Self::new(conn))
        }
    }
    impl<T> ReflectiveMemoryServiceClient<T>
    where
        T: tonic::client::GrpcService<tonic::body::Body>,
        T::Error: Into<StdError>,
        T::ResponseBody: Body<Data = Bytes> + std::marker::Send + 'static,
        <T::ResponseBody as Body>::Error: Into<StdError> + std::marker::Send,
    {
        pub fn new(inner: T) -> Self {
            let inner = tonic::client::Grpc::new(inner);
            Self { inner }
        }
        pub fn with_origin(inner: T, origin: Uri) -> Self {
            let inner = tonic::client::Grpc::with_origin(inner, origin);
            Self { inner }
        }
        pub fn with_interceptor<F>(
            inner: T,
            interceptor: F,
        ) -> ReflectiveMemoryServiceClient<InterceptedService<T, F>>
        where
            F: tonic::service::Interceptor,
            T::ResponseBody: Default,
            T: tonic::codegen::Service<
                http::Request<tonic::body::Body>,
                Response = http::Response<
                    <T as tonic::client::GrpcService<tonic::body::Body>>::ResponseBody,
                >,
            >,
            <T as tonic::codegen::Service<
                http::Request<tonic::body::Body>,
            >>::Error: Into<StdError> + std::marker::Send + std::marker::Sync,
        {
            ReflectiveMemoryServiceClient::new(
                InterceptedService::new(inner, interceptor),
            )
        }
        /// Compress requests with the given encoding.
        ///
        /// This requires the server to support it otherwise it might respond with an
        /// error.
        #[must_use]
        pub fn send_compressed(mut self, encoding: CompressionEncoding) -> Self {
            self.inner = self.inner.send_compressed(encoding);
            self
        }
        /// Enable decompressing responses.
        #[must_use]
        pub fn accept_compressed(mut self, encoding: CompressionEncoding) -> Self {
            self.inner = self.inner.accept_compressed(encoding);
            self
        }
        /// Limits the maximum size of a decoded message.
        ///
        /// Default: `4MB`
        #[must_use]
        pub fn max_decoding_message_size(mut self, limit: usize) -> Self {
            self.inner = self.inner.max_decoding_message_size(limit);
            self
        }
        /// Limits the maximum size of an encoded message.
        ///
        /// Default: `usize::MAX`
        #[must_use]
        pub fn max_encoding_message_size(mut self, limit: usize) -> Self {
            self.inner = self.inner.max_encoding_message_size(limit);
            self
        }
        pub async fn generate_reflection(
            &mut self,
            request: impl tonic::IntoRequest<super::GenerateReflectionRequest>,
        ) -> std::result::Result<
            tonic::Response<super::GenerateReflectionResponse>,
            tonic::Status,
        > {
            self.inner
                .ready()
                .await
                .map_err(|e| {
                    tonic::Status::unknown(
                        format!("Service was not ready: {}", e.into()),
                    )
                })?;
            let codec = tonic_prost::ProstCodec::default();
            let path = http::uri::PathAndQuery::from_static(
                "/sidemirror.v1.ReflectiveMemoryService/GenerateReflection",
            );
            let mut req = request.into_request();
            req.extensions_mut()
                .insert(
                    GrpcMethod::new(
                        "sidemirror.v1.ReflectiveMemoryService",
                        "GenerateReflection",
                    ),
                );
            self.inner.unary(req, path, codec).await
        }
        pub async fn store_reflection(
            &mut self,
            request: impl tonic::IntoRequest<super::StoreReflectionRequest>,
        ) -> std::result::Result<
            tonic::Response<super::StoreReflectionResponse>,
            tonic::Status,
        > {
            self.inner
                .ready()
                .await
                .map_err(|e| {
                    tonic::Status::unknown(
                        format!("Service was not ready: {}", e.into()),
                    )
                })?;
            let codec = tonic_prost::ProstCodec::default();
            let path = http::uri::PathAndQuery::from_static(
                "/sidemirror.v1.ReflectiveMemoryService/StoreReflection",
            );
            let mut req = request.into_request();
            req.extensions_mut()
                .insert(
                    GrpcMethod::new(
                        "sidemirror.v1.ReflectiveMemoryService",
                        "StoreReflection",
                    ),
                );
            self.inner.unary(req, path, codec).await
        }
        pub async fn get_reflection(
            &mut self,
            request: impl tonic::IntoRequest<super::GetReflectionRequest>,
        ) -> std::result::Result<
            tonic::Response<super::GetReflectionResponse>,
            tonic::Status,
        > {
            self.inner
                .ready()
                .await
                .map_err(|e| {
                    tonic::Status::unknown(
                        format!("Service was not ready: {}", e.into()),
                    )
                })?;
            let codec = tonic_prost::ProstCodec::default();
            let path = http::uri::PathAndQuery::from_static(
                "/sidemirror.v1.ReflectiveMemoryService/GetReflection",
            );
            let mut req = request.into_request();
            req.extensions_mut()
                .insert(
                    GrpcMethod::new(
                        "sidemirror.v1.ReflectiveMemoryService",
                        "GetReflection",
                    ),
                );
            self.inner.unary(req, path, codec).await
        }
        pub async fn list_reflections(
            &mut self,
            request: impl tonic::IntoRequest<super::ListReflectionsRequest>,
        ) -> std::result::Result<
            tonic::Response<super::ListReflectionsResponse>,
            tonic::Status,
        > {
            self.inner
                .ready()
                .await
                .map_err(|e| {
                    tonic::Status::unknown(
                        format!("Service was not ready: {}", e.into()),
                    )
                })?;
            let codec = tonic_prost::ProstCodec::default();
            let path = http::uri::PathAndQuery::from_static(
                "/sidemirror.v1.ReflectiveMemoryService/ListReflections",
            );
            let mut req = request.into_request();
            req.extensions_mut()
                .insert(
                    GrpcMethod::new(
                        "sidemirror.v1.ReflectiveMemoryService",
                        "ListReflections",
                    ),
                );
            self.inner.unary(req, path, codec).await
        }
        pub async fn update_reflection(
            &mut self,
            request: impl tonic::IntoRequest<super::UpdateReflectionRequest>,
        ) -> std::result::Result<
            tonic::Response<super::UpdateReflectionResponse>,
            tonic::Status,
        > {
            self.inner
                .ready()
                .await
                .map_err(|e| {
                    tonic::Status::unknown(
                        format!("Service was not ready: {}", e.into()),
                    )
                })?;
            let codec = tonic_prost::ProstCodec::default();
            let path = http::uri::PathAndQuery::from_static(
                "/sidemirror.v1.ReflectiveMemoryService/UpdateReflection",
            );
            let mut req = request.into_request();
            req.extensions_mut()
                .insert(
                    GrpcMethod::new(
                        "sidemirror.v1.ReflectiveMemoryService",
                        "UpdateReflection",
                    ),
                );
            self.inner.unary(req, path, codec).await
        }
        pub async fn delete_reflection(
            &mut self,
            request: impl tonic::IntoRequest<super::DeleteReflectionRequest>,
        ) -> std::result::Result<
            tonic::Response<super::DeleteReflectionResponse>,
            tonic::Status,
        > {
            self.inner
                .ready()
                .await
                .map_err(|e| {
                    tonic::Status::unknown(
                        format!("Service was not ready: {}", e.into()),
                    )
                })?;
            let codec = tonic_prost::ProstCodec::default();
            let path = http::uri::PathAndQuery::from_static(
                "/sidemirror.v1.ReflectiveMemoryService/DeleteReflection",
            );
            let mut req = request.into_request();
            req.extensions_mut()
                .insert(
                    GrpcMethod::new(
                        "sidemirror.v1.ReflectiveMemoryService",
                        "DeleteReflection",
                    ),
                );
            self.inner.unary(req, path, codec).await
        }
        pub async fn list_reflection_versions(
            &mut self,
            request: impl tonic::IntoRequest<super::ListReflectionVersionsRequest>,
        ) -> std::result::Result<
            tonic::Response<super::ListReflectionVersionsResponse>,
            tonic::Status,
        > {
            self.inner
                .ready()
                .await
                .map_err(|e| {
                    tonic::Status::unknown(
                        format!("Service was not ready: {}", e.into()),
                    )
                })?;
            let codec = tonic_prost::ProstCodec::default();
            let path = http::uri::PathAndQuery::from_static(
                "/sidemirror.v1.ReflectiveMemoryService/ListReflectionVersions",
            );
            let mut req = request.into_request();
            req.extensions_mut()
                .insert(
                    GrpcMethod::new(
                        "sidemirror.v1.ReflectiveMemoryService",
                        "ListReflectionVersions",
                    ),
                );
            self.inner.unary(req, path, codec).await
        }
        pub async fn review_reflection(
            &mut self,
            request: impl tonic::IntoRequest<super::ReviewReflectionRequest>,
        ) -> std::result::Result<
            tonic::Response<super::ReviewReflectionResponse>,
            tonic::Status,
        > {
            self.inner
                .ready()
                .await
                .map_err(|e| {
                    tonic::Status::unknown(
                        format!("Service was not ready: {}", e.into()),
                    )
                })?;
            let codec = tonic_prost::ProstCodec::default();
            let path = http::uri::PathAndQuery::from_static(
                "/sidemirror.v1.ReflectiveMemoryService/ReviewReflection",
            );
            let mut req = request.into_request();
            req.extensions_mut()
                .insert(
                    GrpcMethod::new(
                        "sidemirror.v1.ReflectiveMemoryService",
                        "ReviewReflection",
                    ),
                );
            self.inner.unary(req, path, codec).await
        }
        pub async fn query_reflections(
            &mut self,
            request: impl tonic::IntoRequest<super::QueryReflectionsRequest>,
        ) -> std::result::Result<
            tonic::Response<super::QueryReflectionsResponse>,
            tonic::Status,
        > {
            self.inner
                .ready()
                .await
                .map_err(|e| {
                    tonic::Status::unknown(
                        format!("Service was not ready: {}", e.into()),
                    )
                })?;
            let codec = tonic_prost::ProstCodec::default();
            let path = http::uri::PathAndQuery::from_static(
                "/sidemirror.v1.ReflectiveMemoryService/QueryReflections",
            );
            let mut req = request.into_request();
            req.extensions_mut()
                .insert(
                    GrpcMethod::new(
                        "sidemirror.v1.ReflectiveMemoryService",
                        "QueryReflections",
                    ),
                );
            self.inner.unary(req, path, codec).await
        }
        pub async fn build_memory_context(
            &mut self,
            request: impl tonic::IntoRequest<super::BuildMemoryContextRequest>,
        ) -> std::result::Result<
            tonic::Response<super::BuildMemoryContextResponse>,
            tonic::Status,
        > {
            self.inner
                .ready()
                .await
                .map_err(|e| {
                    tonic::Status::unknown(
                        format!("Service was not ready: {}", e.into()),
                    )
                })?;
            let codec = tonic_prost::ProstCodec::default();
            let path = http::uri::PathAndQuery::from_static(
                "/sidemirror.v1.ReflectiveMemoryService/BuildMemoryContext",
            );
            let mut req = request.into_request();
            req.extensions_mut()
                .insert(
                    GrpcMethod::new(
                        "sidemirror.v1.ReflectiveMemoryService",
                        "BuildMemoryContext",
                    ),
                );
            self.inner.unary(req, path, codec).await
        }
        pub async fn report_outcome(
            &mut self,
            request: impl tonic::IntoRequest<super::ReportOutcomeRequest>,
        ) -> std::result::Result<
            tonic::Response<super::ReportOutcomeResponse>,
            tonic::Status,
        > {
            self.inner
                .ready()
                .await
                .map_err(|e| {
                    tonic::Status::unknown(
                        format!("Service was not ready: {}", e.into()),
                    )
                })?;
            let codec = tonic_prost::ProstCodec::default();
            let path = http::uri::PathAndQuery::from_static(
                "/sidemirror.v1.ReflectiveMemoryService/ReportOutcome",
            );
            let mut req = request.into_request();
            req.extensions_mut()
                .insert(
                    GrpcMethod::new(
                        "sidemirror.v1.ReflectiveMemoryService",
                        "ReportOutcome",
                    ),
                );
            self.inner.unary(req, path, codec).await
        }
        pub async fn get_lesson_statistics(
            &mut self,
            request: impl tonic::IntoRequest<super::GetLessonStatisticsRequest>,
        ) -> std::result::Result<
            tonic::Response<super::GetLessonStatisticsResponse>,
            tonic::Status,
        > {
            self.inner
                .ready()
                .await
                .map_err(|e| {
                    tonic::Status::unknown(
                        format!("Service was not ready: {}", e.into()),
                    )
                })?;
            let codec = tonic_prost::ProstCodec::default();
            let path = http::uri::PathAndQuery::from_static(
                "/sidemirror.v1.ReflectiveMemoryService/GetLessonStatistics",
            );
            let mut req = request.into_request();
            req.extensions_mut()
                .insert(
                    GrpcMethod::new(
                        "sidemirror.v1.ReflectiveMemoryService",
                        "GetLessonStatistics",
                    ),
                );
            self.inner.unary(req, path, codec).await
        }
        pub async fn dream(
            &mut self,
            request: impl tonic::IntoRequest<super::DreamRequest>,
        ) -> std::result::Result<
            tonic::Response<tonic::codec::Streaming<super::DreamResponse>>,
            tonic::Status,
        > {
            self.inner
                .ready()
                .await
                .map_err(|e| {
                    tonic::Status::unknown(
                        format!("Service was not ready: {}", e.into()),
                    )
                })?;
            let codec = tonic_prost::ProstCodec::default();
            let path = http::uri::PathAndQuery::from_static(
                "/sidemirror.v1.ReflectiveMemoryService/Dream",
            );
            let mut req = request.into_request();
            req.extensions_mut()
                .insert(
                    GrpcMethod::new("sidemirror.v1.ReflectiveMemoryService", "Dream"),
                );
            self.inner.server_streaming(req, path, codec).await
        }
        pub async fn list_dreams(
            &mut self,
            request: impl tonic::IntoRequest<super::ListDreamsRequest>,
        ) -> std::result::Result<
            tonic::Response<super::ListDreamsResponse>,
            tonic::Status,
        > {
            self.inner
                .ready()
                .await
                .map_err(|e| {
                    tonic::Status::unknown(
                        format!("Service was not ready: {}", e.into()),
                    )
                })?;
            let codec = tonic_prost::ProstCodec::default();
            let path = http::uri::PathAndQuery::from_static(
                "/sidemirror.v1.ReflectiveMemoryService/ListDreams",
            );
            let mut req = request.into_request();
            req.extensions_mut()
                .insert(
                    GrpcMethod::new(
                        "sidemirror.v1.ReflectiveMemoryService",
                        "ListDreams",
                    ),
                );
            self.inner.unary(req, path, codec).await
        }
        pub async fn list_prunings(
            &mut self,
            request: impl tonic::IntoRequest<super::ListPruningsRequest>,
        ) -> std::result::Result<
            tonic::Response<super::ListPruningsResponse>,
            tonic::Status,
        > {
            self.inner
                .ready()
                .await
                .map_err(|e| {
                    tonic::Status::unknown(
                        format!("Service was not ready: {}", e.into()),
                    )
                })?;
            let codec = tonic_prost::ProstCodec::default();
            let path = http::uri::PathAndQuery::from_static(
                "/sidemirror.v1.ReflectiveMemoryService/ListPrunings",
            );
            let mut req = request.into_request();
            req.extensions_mut()
                .insert(
                    GrpcMethod::new(
                        "sidemirror.v1.ReflectiveMemoryService",
                        "ListPrunings",
                    ),
                );
            self.inner.unary(req, path, codec).await
        }
        pub async fn export_reflections(
            &mut self,
            request: impl tonic::IntoRequest<super::ExportReflectionsRequest>,
        ) -> std::result::Result<
            tonic::Response<tonic::codec::Streaming<super::ExportReflectionsResponse>>,
            tonic::Status,
        > {
            self.inner
                .ready()
                .await
                .map_err(|e| {
                    tonic::Status::unknown(
                        format!("Service was not ready: {}", e.into()),
                    )
                })?;
            let codec = tonic_prost::ProstCodec::default();
            let path = http::uri::PathAndQuery::from_static(
                "/sidemirror.v1.ReflectiveMemoryService/ExportReflections",
            );
            let mut req = request.into_request();
            req.extensions_mut()
                .insert(
                    GrpcMethod::new(
                        "sidemirror.v1.ReflectiveMemoryService",
                        "ExportReflections",
                    ),
                );
            self.inner.server_streaming(req, path, codec).await
        }
        pub async fn import_reflections(
            &mut self,
            request: impl tonic::IntoStreamingRequest<
                Message = super::ImportReflectionsRequest,
            >,
        ) -> std::result::Result<
            tonic::Response<super::ImportReflectionsResponse>,
            tonic::Status,
        > {
            self.inner
                .ready()
                .await
                .map_err(|e| {
                    tonic::Status::unknown(
                        format!("Service was not ready: {}", e.into()),
                    )
                })?;
            let codec = tonic_prost::ProstCodec::default();
            let path = http::uri::PathAndQuery::from_static(
                "/sidemirror.v1.ReflectiveMemoryService/ImportReflections",
            );
            let mut req = request.into_streaming_request();
            req.extensions_mut()
                .insert(
                    GrpcMethod::new(
                        "sidemirror.v1.ReflectiveMemoryService",
                        "ImportReflections",
                    ),
                );
            self.inner.client_streaming(req, path, codec).await
        }
        pub async fn list_clusters(
            &mut self,
            request: impl tonic::IntoRequest<super::ListClustersRequest>,
        ) -> std::result::Result<
            tonic::Response<super::ListClustersResponse>,
            tonic::Status,
        > {
            self.inner
                .ready()
                .await
                .map_err(|e| {
                    tonic::Status::unknown(
                        format!("Service was not ready: {}", e.into()),
                    )
                })?;
            let codec = tonic_prost::ProstCodec::default();
            let path = http::uri::PathAndQuery::from_static(
                "/sidemirror.v1.ReflectiveMemoryService/ListClusters",
            );
            let mut req = request.into_request();
            req.extensions_mut()
                .insert(
                    GrpcMethod::new(
                        "sidemirror.v1.ReflectiveMemoryService",
                        "ListClusters",
                    ),
                );
            self.inner.unary(req, path, codec).await
        }
        pub async fn link_reflections(
            &mut self,
            request: impl tonic::IntoRequest<super::LinkReflectionsRequest>,
        ) -> std::result::Result<
            tonic::Response<super::LinkReflectionsResponse>,
            tonic::Status,
        > {
            self.inner
                .ready()
                .await
                .map_err(|e| {
                    tonic::Status::unknown(
                        format!("Service was not ready: {}", e.into()),
                    )
                })?;
            let codec = tonic_prost::ProstCodec::default();
            let path = http::uri::PathAndQuery::from_static(
                "/sidemirror.v1.ReflectiveMemoryService/LinkReflections",
            );
            let mut req = request.into_request();
            req.extensions_mut()
                .insert(
                    GrpcMethod::new(
                        "sidemirror.v1.ReflectiveMemoryService",
                        "LinkReflections",
                    ),
                );
            self.inner.unary(req, path, codec).await
        }
        pub async fn explore_graph(
            &mut self,
            request: impl tonic::IntoRequest<super::ExploreGraphRequest>,
        ) -> std::result::Result<
            tonic::Response<super::ExploreGraphResponse>,
            tonic::Status,
        > {
            self.inner
                .ready()
                .await
                .map_err(|e| {
                    tonic::Status::unknown(
                        format!("Service was not ready: {}", e.into()),
                    )
                })?;
            let codec = tonic_prost::ProstCodec::default();
            let path = http::uri::PathAndQuery::from_static(
                "/sidemirror.v1.ReflectiveMemoryService/ExploreGraph",
            );
            let mut req = request.into_request();
            req.extensions_mut()
                .insert(
                    GrpcMethod::new(
                        "sidemirror.v1.ReflectiveMemoryService",
                        "ExploreGraph",
                    ),
                );
            self.inner.unary(req, path, codec).await
        }
        pub async fn find_recoveries(
            &mut self,
            request: impl tonic::IntoRequest<super::FindRecoveriesRequest>,
        ) -> std::result::Result<
            tonic::Response<super::FindRecoveriesResponse>,
            tonic::Status,
        > {
            self.inner
                .ready()
                .await
                .map_err(|e| {
                    tonic::Status::unknown(
                        format!("Service was not ready: {}", e.into()),
                    )
                })?;
            let codec = tonic_prost::ProstCodec::default();
            let path = http::uri::PathAndQuery::from_static(
                "/sidemirror.v1.ReflectiveMemoryService/FindRecoveries",
            );
            let mut req = request.into_request();
            req.extensions_mut()
                .insert(
                    GrpcMethod::new(
                        "sidemirror.v1.ReflectiveMemoryService",
                        "FindRecoveries",
                    ),
                );
            self.inner.unary(req, path, codec).await
        }
        pub async fn list_receipts(
            &mut self,
            request: impl tonic::IntoRequest<super::ListReceiptsRequest>,
        ) -> std::result::Result<
            tonic::Response<super::ListReceiptsResponse>,
            tonic::Status,
        > {
            self.inner
                .ready()
                .await
                .map_err(|e| {
                    tonic::Status::unknown(
                        format!("Service was not ready: {}", e.into()),
                    )
                })?;
            let codec = tonic_prost::ProstCodec::default();
            let path = http::uri::PathAndQuery::from_static(
                "/sidemirror.v1.ReflectiveMemoryService/ListReceipts",
            );
            let mut req = request.into_request();
            req.extensions_mut()
                .insert(
                    GrpcMethod::new(
                        "sidemirror.v1.ReflectiveMemoryService",
                        "ListReceipts",
                    ),
                );
            self.inner.unary(req, path, codec).await
        }
        pub async fn list_recoveries(
            &mut self,
            request: impl tonic::IntoRequest<super::ListRecoveriesRequest>,
        ) -> std::result::Result<
            tonic::Response<super::ListRecoveriesResponse>,
            tonic::Status,
        > {
            self.inner
                .ready()
                .await
                .map_err(|e| {
                    tonic::Status::unknown(
                        format!("Service was not ready: {}", e.into()),
                    )
                })?;
            let codec = tonic_prost::ProstCodec::default();
            let path = http::uri::PathAndQuery::from_static(
                "/sidemirror.v1.ReflectiveMemoryService/ListRecoveries",
            );
            let mut req = request.into_request();
            req.extensions_mut()
                .insert(
                    GrpcMethod::new(
                        "sidemirror.v1.ReflectiveMemoryService",
                        "ListRecoveries",
                    ),
                );
            self.inner.unary(req, path, codec).await
        }
    }
}
/// Generated client implementations.
pub mod sidecar_service_client {
    #![allow(
        unused_variables,
        dead_code,
        missing_docs,
        clippy::wildcard_imports,
        clippy::let_unit_value,
    )]
    use tonic::codegen::*;
    use tonic::codegen::http::Uri;
    #[derive(Debug, Clone)]
    pub struct SidecarServiceClient<T> {
        inner: tonic::client::Grpc<T>,
    }
    impl SidecarServiceClient<tonic::transport::Channel> {
        /// Attempt to create a new client by connecting to a given endpoint.
        pub async fn connect<D>(dst: D) -> Result<Self, tonic::transport::Error>
        where
            D: TryInto<tonic::transport::Endpoint>,
            D::Error: Into<StdError>,
        {
            let conn = tonic::transport::Endpoint::new(dst)?.connect().await?;
            Ok(Self::new(conn))
        }
    }
    impl<T> SidecarServiceClient<T>
    where
        T: tonic::client::GrpcService<tonic::body::Body>,
        T::Error: Into<StdError>,
        T::ResponseBody: Body<Data = Bytes> + std::marker::Send + 'static,
        <T::ResponseBody as Body>::Error: Into<StdError> + std::marker::Send,
    {
        pub fn new(inner: T) -> Self {
            let inner = tonic::client::Grpc::new(inner);
            Self { inner }
        }
        pub fn with_origin(inner: T, origin: Uri) -> Self {
            let inner = tonic::client::Grpc::with_origin(inner, origin);
            Self { inner }
        }
        pub fn with_interceptor<F>(
            inner: T,
            interceptor: F,
        ) -> SidecarServiceClient<InterceptedService<T, F>>
        where
            F: tonic::service::Interceptor,
            T::ResponseBody: Default,
            T: tonic::codegen::Service<
                http::Request<tonic::body::Body>,
                Response = http::Response<
                    <T as tonic::client::GrpcService<tonic::body::Body>>::ResponseBody,
                >,
            >,
            <T as tonic::codegen::Service<
                http::Request<tonic::body::Body>,
            >>::Error: Into<StdError> + std::marker::Send + std::marker::Sync,
        {
            SidecarServiceClient::new(InterceptedService::new(inner, interceptor))
        }
        /// Compress requests with the given encoding.
        ///
        /// This requires the server to support it otherwise it might respond with an
        /// error.
        #[must_use]
        pub fn send_compressed(mut self, encoding: CompressionEncoding) -> Self {
            self.inner = self.inner.send_compressed(encoding);
            self
        }
        /// Enable decompressing responses.
        #[must_use]
        pub fn accept_compressed(mut self, encoding: CompressionEncoding) -> Self {
            self.inner = self.inner.accept_compressed(encoding);
            self
        }
        /// Limits the maximum size of a decoded message.
        ///
        /// Default: `4MB`
        #[must_use]
        pub fn max_decoding_message_size(mut self, limit: usize) -> Self {
            self.inner = self.inner.max_decoding_message_size(limit);
            self
        }
        /// Limits the maximum size of an encoded message.
        ///
        /// Default: `usize::MAX`
        #[must_use]
        pub fn max_encoding_message_size(mut self, limit: usize) -> Self {
            self.inner = self.inner.max_encoding_message_size(limit);
            self
        }
        pub async fn get_server_info(
            &mut self,
            request: impl tonic::IntoRequest<super::GetServerInfoRequest>,
        ) -> std::result::Result<
            tonic::Response<super::GetServerInfoResponse>,
            tonic::Status,
        > {
            self.inner
                .ready()
                .await
                .map_err(|e| {
                    tonic::Status::unknown(
                        format!("Service was not ready: {}", e.into()),
                    )
                })?;
            let codec = tonic_prost::ProstCodec::default();
            let path = http::uri::PathAndQuery::from_static(
                "/sidemirror.v1.SidecarService/GetServerInfo",
            );
            let mut req = request.into_request();
            req.extensions_mut()
                .insert(
                    GrpcMethod::new("sidemirror.v1.SidecarService", "GetServerInfo"),
                );
            self.inner.unary(req, path, codec).await
        }
        pub async fn erase(
            &mut self,
            request: impl tonic::IntoRequest<super::EraseRequest>,
        ) -> std::result::Result<tonic::Response<super::EraseResponse>, tonic::Status> {
            self.inner
                .ready()
                .await
                .map_err(|e| {
                    tonic::Status::unknown(
                        format!("Service was not ready: {}", e.into()),
                    )
                })?;
            let codec = tonic_prost::ProstCodec::default();
            let path = http::uri::PathAndQuery::from_static(
                "/sidemirror.v1.SidecarService/Erase",
            );
            let mut req = request.into_request();
            req.extensions_mut()
                .insert(GrpcMethod::new("sidemirror.v1.SidecarService", "Erase"));
            self.inner.unary(req, path, codec).await
        }
        pub async fn list_tombstones(
            &mut self,
            request: impl tonic::IntoRequest<super::ListTombstonesRequest>,
        ) -> std::result::Result<
            tonic::Response<super::ListTombstonesResponse>,
            tonic::Status,
        > {
            self.inner
                .ready()
                .await
                .map_err(|e| {
                    tonic::Status::unknown(
                        format!("Service was not ready: {}", e.into()),
                    )
                })?;
            let codec = tonic_prost::ProstCodec::default();
            let path = http::uri::PathAndQuery::from_static(
                "/sidemirror.v1.SidecarService/ListTombstones",
            );
            let mut req = request.into_request();
            req.extensions_mut()
                .insert(
                    GrpcMethod::new("sidemirror.v1.SidecarService", "ListTombstones"),
                );
            self.inner.unary(req, path, codec).await
        }
        pub async fn get_policy(
            &mut self,
            request: impl tonic::IntoRequest<super::GetPolicyRequest>,
        ) -> std::result::Result<
            tonic::Response<super::GetPolicyResponse>,
            tonic::Status,
        > {
            self.inner
                .ready()
                .await
                .map_err(|e| {
                    tonic::Status::unknown(
                        format!("Service was not ready: {}", e.into()),
                    )
                })?;
            let codec = tonic_prost::ProstCodec::default();
            let path = http::uri::PathAndQuery::from_static(
                "/sidemirror.v1.SidecarService/GetPolicy",
            );
            let mut req = request.into_request();
            req.extensions_mut()
                .insert(GrpcMethod::new("sidemirror.v1.SidecarService", "GetPolicy"));
            self.inner.unary(req, path, codec).await
        }
        pub async fn set_policy(
            &mut self,
            request: impl tonic::IntoRequest<super::SetPolicyRequest>,
        ) -> std::result::Result<
            tonic::Response<super::SetPolicyResponse>,
            tonic::Status,
        > {
            self.inner
                .ready()
                .await
                .map_err(|e| {
                    tonic::Status::unknown(
                        format!("Service was not ready: {}", e.into()),
                    )
                })?;
            let codec = tonic_prost::ProstCodec::default();
            let path = http::uri::PathAndQuery::from_static(
                "/sidemirror.v1.SidecarService/SetPolicy",
            );
            let mut req = request.into_request();
            req.extensions_mut()
                .insert(GrpcMethod::new("sidemirror.v1.SidecarService", "SetPolicy"));
            self.inner.unary(req, path, codec).await
        }
    }
}
