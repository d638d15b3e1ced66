! fzgm: Fortran 2008 interface, the functions of fzgm.h through iso_c_binding. SPDX-License-Identifier: BSD-3-Clause
!
!   use fzgm
!   type(c_ptr) :: pipeline, plan
!   status = fz_pipeline_from_text(fz_c("lorenzo_quant(eb=1e-3,mode=noa) > rze"), pipeline)
!   if (status /= FZ_OK) print *, fz_last_error_text()
!   status = fz_pipeline_finalize(pipeline, FZ_F32, shape(x, c_int64_t), 3_c_int32_t, c_null_ptr, plan)
!   status = fz_compress(plan, c_null_ptr, c_loc(x), c_sizeof(x), c_loc(container), capacity, bytes)
!
! Compile this file together with your program, because .mod files depend on the compiler. fzgm.h documents the functions.
! Differences from C:
!
! * Handles are type(c_ptr). Pass c_null_ptr where C permits NULL.
! * Pass texts with fz_c(), which appends the terminating zero. fz_f() converts a returned pointer or a field of a structure
!   to a Fortran string.
! * Arrays and containers are addresses of host or device memory: c_loc() of a target; c_devloc() of CUDA Fortran (a
!   c_devptr, converted with transfer); or c_loc() inside host_data use_device (OpenACC) or use_device_ptr (OpenMP).
! * Dimensions are in Fortran order, the fastest first: pass shape(x, c_int64_t) unchanged.
! * Fortran names are case-insensitive: structures are named fz_..._t, because of FZ_DEVICE, and FZ_ABI_VERSION is FZ_ABI.
!   UINT32_MAX is -1.
module fzgm
  use, intrinsic :: iso_c_binding
  implicit none
  public

  integer(c_int32_t), parameter :: FZ_ABI = 0
  ! Version of this file.
  integer(c_int32_t), parameter :: FZ_VERSION_MAJOR = 0
  integer(c_int32_t), parameter :: FZ_VERSION_MINOR = 1
  integer(c_int32_t), parameter :: FZ_VERSION_PATCH = 0
  integer(c_int32_t), parameter :: FZ_EVERY_STAGE = -1
  integer(c_int32_t), parameter :: FZ_NO_STAGE = -1

  ! Statuses, fz_status.
  integer(c_int32_t), parameter :: FZ_OK = 0
  integer(c_int32_t), parameter :: FZ_INVALID_ARGUMENT = 10
  integer(c_int32_t), parameter :: FZ_NULL_POINTER = 11
  integer(c_int32_t), parameter :: FZ_PLAN_MISMATCH = 12
  integer(c_int32_t), parameter :: FZ_UNKNOWN_NAME = 20
  integer(c_int32_t), parameter :: FZ_TYPE_MISMATCH = 21
  integer(c_int32_t), parameter :: FZ_INVALID_PIPELINE = 22
  integer(c_int32_t), parameter :: FZ_UNSUPPORTED = 23
  integer(c_int32_t), parameter :: FZ_TOO_LARGE = 24
  integer(c_int32_t), parameter :: FZ_CORRUPT = 30
  integer(c_int32_t), parameter :: FZ_CHECKSUM = 31
  integer(c_int32_t), parameter :: FZ_NOT_A_CONTAINER = 32
  integer(c_int32_t), parameter :: FZ_TRUNCATED = 33
  integer(c_int32_t), parameter :: FZ_DST_TOO_SMALL = 40
  integer(c_int32_t), parameter :: FZ_OUTLIER_CAPACITY = 41
  integer(c_int32_t), parameter :: FZ_MEMORY_LIMIT = 42
  integer(c_int32_t), parameter :: FZ_OUT_OF_MEMORY = 43
  integer(c_int32_t), parameter :: FZ_NO_THREADS = 44
  integer(c_int32_t), parameter :: FZ_NO_DEVICE = 50
  integer(c_int32_t), parameter :: FZ_DEVICE = 51
  integer(c_int32_t), parameter :: FZ_FILE = 60
  integer(c_int32_t), parameter :: FZ_INTERNAL = 90

  ! Element types, fz_dtype.
  integer(c_int32_t), parameter :: FZ_U8 = 0
  integer(c_int32_t), parameter :: FZ_U16 = 1
  integer(c_int32_t), parameter :: FZ_U32 = 2
  integer(c_int32_t), parameter :: FZ_U64 = 3
  integer(c_int32_t), parameter :: FZ_I8 = 4
  integer(c_int32_t), parameter :: FZ_I16 = 5
  integer(c_int32_t), parameter :: FZ_I32 = 6
  integer(c_int32_t), parameter :: FZ_I64 = 7
  integer(c_int32_t), parameter :: FZ_F32 = 8
  integer(c_int32_t), parameter :: FZ_F64 = 9

  ! The reference of a bound, fz_mode.
  integer(c_int32_t), parameter :: FZ_MODE_UNBOUNDED = -2
  integer(c_int32_t), parameter :: FZ_MODE_LOSSLESS = -1
  integer(c_int32_t), parameter :: FZ_MODE_ABS = 0
  integer(c_int32_t), parameter :: FZ_MODE_REL = 1
  integer(c_int32_t), parameter :: FZ_MODE_NOA = 2
  integer(c_int32_t), parameter :: FZ_MODE_PREL = 3

  ! Container forms, fz_container.
  integer(c_int32_t), parameter :: FZ_CONTAINER_FZM = 0
  integer(c_int32_t), parameter :: FZ_CONTAINER_COMPACT = 1

  ! Generations of FZM files, fz_generation.
  integer(c_int32_t), parameter :: FZ_GENERATION_2026_08 = 0
  integer(c_int32_t), parameter :: FZ_GENERATION_2026_05 = 1

  ! Where calls run, fz_device_choice.
  integer(c_int32_t), parameter :: FZ_DEVICE_AUTO = -1
  integer(c_int32_t), parameter :: FZ_DEVICE_CPU = -2

  ! Kinds of parameters, fz_parameter_kind.
  integer(c_int32_t), parameter :: FZ_PARAMETER_REAL = 0
  integer(c_int32_t), parameter :: FZ_PARAMETER_INT = 1
  integer(c_int32_t), parameter :: FZ_PARAMETER_FLAG = 2
  integer(c_int32_t), parameter :: FZ_PARAMETER_WORD = 3
  integer(c_int32_t), parameter :: FZ_PARAMETER_NAMES = 4

  ! Port directions, fz_port_direction.
  integer(c_int32_t), parameter :: FZ_PORT_INPUT = 0
  integer(c_int32_t), parameter :: FZ_PORT_OUTPUT = 1

  ! Goals of fz_pipeline_choose, fz_goal.
  integer(c_int32_t), parameter :: FZ_GOAL_BALANCED = 0
  integer(c_int32_t), parameter :: FZ_GOAL_SPEED = 1
  integer(c_int32_t), parameter :: FZ_GOAL_RATIO = 2

  type, bind(C) :: fz_stage_t
    integer(c_int32_t) :: struct_bytes = 0
    integer(c_int32_t) :: id = 0
    integer(c_int32_t) :: inputs = 0
    integer(c_int32_t) :: outputs = 0
    integer(c_int32_t) :: parameters = 0
    character(kind=c_char) :: name(32) = c_null_char
    character(kind=c_char) :: about(188) = c_null_char
  end type fz_stage_t

  type, bind(C) :: fz_port_t
    integer(c_int32_t) :: struct_bytes = 0
    integer(c_int32_t) :: producer = 0
    integer(c_int32_t) :: producer_port = 0
    character(kind=c_char) :: name(52) = c_null_char
  end type fz_port_t

  type, bind(C) :: fz_parameter_t
    integer(c_int32_t) :: struct_bytes = 0
    integer(c_int32_t) :: kind = 0
    real(c_double) :: low = 0.0_c_double
    real(c_double) :: high = 0.0_c_double
    real(c_double) :: default_value = 0.0_c_double
    real(c_double) :: value = 0.0_c_double
    integer(c_int32_t) :: low_excluded = 0
    integer(c_int32_t) :: choices = 0
    character(kind=c_char) :: name(32) = c_null_char
    character(kind=c_char) :: default_text(32) = c_null_char
    character(kind=c_char) :: value_text(32) = c_null_char
    character(kind=c_char) :: choices_text(96) = c_null_char
    character(kind=c_char) :: unit(160) = c_null_char
    character(kind=c_char) :: range(96) = c_null_char
    character(kind=c_char) :: about(192) = c_null_char
  end type fz_parameter_t

  type, bind(C) :: fz_preset_t
    integer(c_int32_t) :: struct_bytes = 0
    integer(c_int32_t) :: lossless = 0
    character(kind=c_char) :: name(32) = c_null_char
    character(kind=c_char) :: about(216) = c_null_char
  end type fz_preset_t

  type, bind(C) :: fz_fill_t
    integer(c_int32_t) :: struct_bytes = 0
    integer(c_int32_t) :: found = 0
    real(c_double) :: value = 0.0_c_double
    integer(c_int64_t) :: count = 0
    real(c_double) :: threshold = 0.0_c_double
    real(c_double) :: min = 0.0_c_double
    real(c_double) :: max = 0.0_c_double
  end type fz_fill_t

  type, bind(C) :: fz_wish_t
    integer(c_int32_t) :: struct_bytes = 0
    integer(c_int32_t) :: goal = 0
    integer(c_int32_t) :: mode = 0
    integer(c_int32_t) :: reserved = 0
    real(c_double) :: bound = 0.0_c_double
    real(c_double) :: target_ratio = 0.0_c_double
    real(c_double) :: target_psnr = 0.0_c_double
    real(c_double) :: outlier_threshold = 0.0_c_double
  end type fz_wish_t

  type, bind(C) :: fz_choice_t
    integer(c_int32_t) :: struct_bytes = 0
    integer(c_int32_t) :: mode = 0
    real(c_double) :: bound = 0.0_c_double
    real(c_double) :: expected_ratio = 0.0_c_double
    character(kind=c_char) :: preset(32) = c_null_char
    character(kind=c_char) :: lattice(160) = c_null_char
  end type fz_choice_t

  type, bind(C) :: fz_options_t
    integer(c_int32_t) :: struct_bytes = 0
    integer(c_int32_t) :: strict = 0
    integer(c_int32_t) :: generation = 0
    integer(c_int32_t) :: container = 0
    integer(c_int32_t) :: checksum = 0
    integer(c_int32_t) :: threads = 0
    integer(c_int32_t) :: device = 0
    integer(c_int32_t) :: previous_base = 0
    integer(c_int64_t) :: max_memory_bytes = 0
  end type fz_options_t

  type, bind(C) :: fz_device_t
    integer(c_int32_t) :: struct_bytes = 0
    integer(c_int32_t) :: driver_version = 0
    integer(c_int32_t) :: capability_major = 0
    integer(c_int32_t) :: capability_minor = 0
    integer(c_int64_t) :: memory_bytes = 0
    character(kind=c_char) :: name(256) = c_null_char
  end type fz_device_t

  type, bind(C) :: fz_result_t
    integer(c_int64_t) :: bytes = 0
    integer(c_int64_t) :: needed = 0
    integer(c_int32_t) :: status = 0
    integer(c_int32_t) :: stage = 0
  end type fz_result_t

  type, bind(C) :: fz_info_t
    integer(c_int32_t) :: struct_bytes = 0
    integer(c_int32_t) :: container = 0
    integer(c_int32_t) :: dtype = 0
    integer(c_int32_t) :: ndim = 0
    integer(c_int64_t) :: dims(3) = 0
    integer(c_int64_t) :: original_bytes = 0
    integer(c_int64_t) :: container_bytes = 0
    integer(c_int32_t) :: stages = 0
    integer(c_int32_t) :: strict = 0
    integer(c_int32_t) :: mode = 0
    real(c_double) :: bound = 0.0_c_double
    real(c_double) :: outlier_threshold = 0.0_c_double
  end type fz_info_t

  type, bind(C) :: fz_view_t
    integer(c_int32_t) :: struct_bytes = 0
    integer(c_int32_t) :: dtype = 0
    integer(c_int32_t) :: ndim = 0
    integer(c_int32_t) :: reserved = 0
    type(c_ptr) :: origin = c_null_ptr
    integer(c_int64_t) :: dims(8) = 0
    integer(c_int64_t) :: strides(8) = 0
  end type fz_view_t

  type, bind(C) :: fz_series_summary_t
    integer(c_int32_t) :: struct_bytes = 0
    integer(c_int32_t) :: indexed = 0
    integer(c_int64_t) :: steps = 0
    integer(c_int64_t) :: file_bytes = 0
    integer(c_int64_t) :: lost_bytes = 0
  end type fz_series_summary_t

  type, bind(C) :: fz_step_t
    integer(c_int32_t) :: struct_bytes = 0
    integer(c_int32_t) :: dtype = 0
    integer(c_int32_t) :: ndim = 0
    integer(c_int32_t) :: reserved = 0
    integer(c_int64_t) :: dims(8) = 0
    integer(c_int64_t) :: original_bytes = 0
    integer(c_int64_t) :: stored_bytes = 0
    integer(c_int64_t) :: slabs = 0
    integer(c_int64_t) :: slab_rows = 0
    character(kind=c_char) :: name(256) = c_null_char
  end type fz_step_t

  ! Converts a C string to a Fortran string.
  interface fz_f
    module procedure text_at_pointer, text_of_field
  end interface fz_f

  interface
    function fz_version() bind(C, name="fz_version")
      import :: c_ptr
      type(c_ptr) :: fz_version
    end function fz_version
    function fz_abi_version() bind(C, name="fz_abi_version")
      import :: c_int32_t
      integer(c_int32_t) :: fz_abi_version
    end function fz_abi_version
    function fz_build_info() bind(C, name="fz_build_info")
      import :: c_ptr
      type(c_ptr) :: fz_build_info
    end function fz_build_info
    function fz_strerror(status) bind(C, name="fz_strerror")
      import :: c_int32_t, c_ptr
      integer(c_int32_t), value :: status
      type(c_ptr) :: fz_strerror
    end function fz_strerror
    function fz_last_error() bind(C, name="fz_last_error")
      import :: c_ptr
      type(c_ptr) :: fz_last_error
    end function fz_last_error
    function fz_pipeline_new(pipeline) bind(C, name="fz_pipeline_new")
      import :: c_int32_t, c_ptr
      type(c_ptr), intent(inout) :: pipeline
      integer(c_int32_t) :: fz_pipeline_new
    end function fz_pipeline_new
    function fz_pipeline_from_preset(name, dtype, pipeline) bind(C, name="fz_pipeline_from_preset")
      import :: c_char, c_int32_t, c_ptr
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int32_t), value :: dtype
      type(c_ptr), intent(inout) :: pipeline
      integer(c_int32_t) :: fz_pipeline_from_preset
    end function fz_pipeline_from_preset
    subroutine fz_pipeline_free(pipeline) bind(C, name="fz_pipeline_free")
      import :: c_ptr
      type(c_ptr), value :: pipeline
    end subroutine fz_pipeline_free
    function fz_pipeline_add_stage(pipeline, stage_name, stage) bind(C, name="fz_pipeline_add_stage")
      import :: c_char, c_int32_t, c_ptr
      type(c_ptr), value :: pipeline
      character(kind=c_char), intent(in) :: stage_name(*)
      integer(c_int32_t), intent(inout) :: stage
      integer(c_int32_t) :: fz_pipeline_add_stage
    end function fz_pipeline_add_stage
    function fz_pipeline_connect(pipeline, producer, port, consumer) bind(C, name="fz_pipeline_connect")
      import :: c_char, c_int32_t, c_ptr
      type(c_ptr), value :: pipeline
      integer(c_int32_t), value :: producer
      character(kind=c_char), intent(in) :: port(*)
      integer(c_int32_t), value :: consumer
      integer(c_int32_t) :: fz_pipeline_connect
    end function fz_pipeline_connect
    function fz_pipeline_set_double(pipeline, stage, parameter, value) bind(C, name="fz_pipeline_set_double")
      import :: c_char, c_double, c_int32_t, c_ptr
      type(c_ptr), value :: pipeline
      integer(c_int32_t), value :: stage
      character(kind=c_char), intent(in) :: parameter(*)
      real(c_double), value :: value
      integer(c_int32_t) :: fz_pipeline_set_double
    end function fz_pipeline_set_double
    function fz_pipeline_set_int(pipeline, stage, parameter, value) bind(C, name="fz_pipeline_set_int")
      import :: c_char, c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: pipeline
      integer(c_int32_t), value :: stage
      character(kind=c_char), intent(in) :: parameter(*)
      integer(c_int64_t), value :: value
      integer(c_int32_t) :: fz_pipeline_set_int
    end function fz_pipeline_set_int
    function fz_pipeline_set_string(pipeline, stage, parameter, value) bind(C, name="fz_pipeline_set_string")
      import :: c_char, c_int32_t, c_ptr
      type(c_ptr), value :: pipeline
      integer(c_int32_t), value :: stage
      character(kind=c_char), intent(in) :: parameter(*), value(*)
      integer(c_int32_t) :: fz_pipeline_set_string
    end function fz_pipeline_set_string
    function fz_pipeline_from_toml(toml, pipeline) bind(C, name="fz_pipeline_from_toml")
      import :: c_char, c_int32_t, c_ptr
      character(kind=c_char), intent(in) :: toml(*)
      type(c_ptr), intent(inout) :: pipeline
      integer(c_int32_t) :: fz_pipeline_from_toml
    end function fz_pipeline_from_toml
    function fz_pipeline_from_text(chain, pipeline) bind(C, name="fz_pipeline_from_text")
      import :: c_char, c_int32_t, c_ptr
      character(kind=c_char), intent(in) :: chain(*)
      type(c_ptr), intent(inout) :: pipeline
      integer(c_int32_t) :: fz_pipeline_from_text
    end function fz_pipeline_from_text
    function fz_pipeline_to_toml(pipeline, toml, toml_capacity_bytes, toml_bytes) bind(C, name="fz_pipeline_to_toml")
      import :: c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: pipeline, toml
      integer(c_int64_t), value :: toml_capacity_bytes
      integer(c_int64_t), intent(inout) :: toml_bytes
      integer(c_int32_t) :: fz_pipeline_to_toml
    end function fz_pipeline_to_toml
    function fz_pipeline_to_text(pipeline, chain, chain_capacity_bytes, chain_bytes) bind(C, name="fz_pipeline_to_text")
      import :: c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: pipeline, chain
      integer(c_int64_t), value :: chain_capacity_bytes
      integer(c_int64_t), intent(inout) :: chain_bytes
      integer(c_int32_t) :: fz_pipeline_to_text
    end function fz_pipeline_to_text
    function fz_stage_count(count) bind(C, name="fz_stage_count")
      import :: c_int32_t
      integer(c_int32_t), intent(inout) :: count
      integer(c_int32_t) :: fz_stage_count
    end function fz_stage_count
    function fz_stage_info(index, stage) bind(C, name="fz_stage_info")
      import :: c_int32_t, fz_stage_t
      integer(c_int32_t), value :: index
      type(fz_stage_t), intent(inout) :: stage
      integer(c_int32_t) :: fz_stage_info
    end function fz_stage_info
    function fz_stage_port(index, direction, port, info) bind(C, name="fz_stage_port")
      import :: c_int32_t, fz_port_t
      integer(c_int32_t), value :: index, direction, port
      type(fz_port_t), intent(inout) :: info
      integer(c_int32_t) :: fz_stage_port
    end function fz_stage_port
    function fz_stage_parameter(index, parameter, info) bind(C, name="fz_stage_parameter")
      import :: c_int32_t, fz_parameter_t
      integer(c_int32_t), value :: index, parameter
      type(fz_parameter_t), intent(inout) :: info
      integer(c_int32_t) :: fz_stage_parameter
    end function fz_stage_parameter
    function fz_preset_count(count) bind(C, name="fz_preset_count")
      import :: c_int32_t
      integer(c_int32_t), intent(inout) :: count
      integer(c_int32_t) :: fz_preset_count
    end function fz_preset_count
    function fz_preset_info(index, preset) bind(C, name="fz_preset_info")
      import :: c_int32_t, fz_preset_t
      integer(c_int32_t), value :: index
      type(fz_preset_t), intent(inout) :: preset
      integer(c_int32_t) :: fz_preset_info
    end function fz_preset_info
    function fz_pipeline_stage_count(pipeline, count) bind(C, name="fz_pipeline_stage_count")
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: pipeline
      integer(c_int32_t), intent(inout) :: count
      integer(c_int32_t) :: fz_pipeline_stage_count
    end function fz_pipeline_stage_count
    function fz_pipeline_stage_info(pipeline, stage, info) bind(C, name="fz_pipeline_stage_info")
      import :: c_int32_t, c_ptr, fz_stage_t
      type(c_ptr), value :: pipeline
      integer(c_int32_t), value :: stage
      type(fz_stage_t), intent(inout) :: info
      integer(c_int32_t) :: fz_pipeline_stage_info
    end function fz_pipeline_stage_info
    function fz_pipeline_stage_port(pipeline, stage, direction, port, info) bind(C, name="fz_pipeline_stage_port")
      import :: c_int32_t, c_ptr, fz_port_t
      type(c_ptr), value :: pipeline
      integer(c_int32_t), value :: stage, direction, port
      type(fz_port_t), intent(inout) :: info
      integer(c_int32_t) :: fz_pipeline_stage_port
    end function fz_pipeline_stage_port
    function fz_pipeline_stage_parameter(pipeline, stage, parameter, info) bind(C, name="fz_pipeline_stage_parameter")
      import :: c_int32_t, c_ptr, fz_parameter_t
      type(c_ptr), value :: pipeline
      integer(c_int32_t), value :: stage, parameter
      type(fz_parameter_t), intent(inout) :: info
      integer(c_int32_t) :: fz_pipeline_stage_parameter
    end function fz_pipeline_stage_parameter
    function fz_options_init(options) bind(C, name="fz_options_init")
      import :: c_int32_t, fz_options_t
      type(fz_options_t), intent(inout) :: options
      integer(c_int32_t) :: fz_options_init
    end function fz_options_init
    function fz_pipeline_finalize(pipeline, dtype, dims, ndim, options, plan) bind(C, name="fz_pipeline_finalize")
      import :: c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: pipeline
      integer(c_int32_t), value :: dtype
      integer(c_int64_t), intent(in) :: dims(*)
      integer(c_int32_t), value :: ndim
      type(c_ptr), value :: options
      type(c_ptr), intent(inout) :: plan
      integer(c_int32_t) :: fz_pipeline_finalize
    end function fz_pipeline_finalize
    function fz_compress_simple( &
        preset, dtype, dims, ndim, mode, bound, src, src_bytes, dst, dst_capacity_bytes, compressed_bytes) &
        bind(C, name="fz_compress_simple")
      import :: c_char, c_double, c_int32_t, c_int64_t, c_ptr
      character(kind=c_char), intent(in) :: preset(*)
      integer(c_int32_t), value :: dtype
      integer(c_int64_t), intent(in) :: dims(*)
      integer(c_int32_t), value :: ndim, mode
      real(c_double), value :: bound
      type(c_ptr), value :: src
      integer(c_int64_t), value :: src_bytes
      type(c_ptr), value :: dst
      integer(c_int64_t), value :: dst_capacity_bytes
      integer(c_int64_t), intent(inout) :: compressed_bytes
      integer(c_int32_t) :: fz_compress_simple
    end function fz_compress_simple
    function fz_find_fill_value(dtype, src, src_bytes, outlier_threshold, fill) bind(C, name="fz_find_fill_value")
      import :: c_double, c_int32_t, c_int64_t, c_ptr, fz_fill_t
      integer(c_int32_t), value :: dtype
      type(c_ptr), value :: src
      integer(c_int64_t), value :: src_bytes
      real(c_double), value :: outlier_threshold
      type(fz_fill_t), intent(inout) :: fill
      integer(c_int32_t) :: fz_find_fill_value
    end function fz_find_fill_value
    function fz_pipeline_choose(wish, dtype, dims, ndim, src, src_bytes, pipeline, choice) &
        bind(C, name="fz_pipeline_choose")
      import :: c_int32_t, c_int64_t, c_ptr, fz_choice_t, fz_wish_t
      type(fz_wish_t), intent(in) :: wish
      integer(c_int32_t), value :: dtype
      integer(c_int64_t), intent(in) :: dims(*)
      integer(c_int32_t), value :: ndim
      type(c_ptr), value :: src
      integer(c_int64_t), value :: src_bytes
      type(c_ptr), intent(inout) :: pipeline
      type(fz_choice_t), intent(inout) :: choice
      integer(c_int32_t) :: fz_pipeline_choose
    end function fz_pipeline_choose
    function fz_plan_decoder(encoder, decoder) bind(C, name="fz_plan_decoder")
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: encoder
      type(c_ptr), intent(inout) :: decoder
      integer(c_int32_t) :: fz_plan_decoder
    end function fz_plan_decoder
    function fz_plan_open(container, container_bytes, options, decoder) bind(C, name="fz_plan_open")
      import :: c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: container
      integer(c_int64_t), value :: container_bytes
      type(c_ptr), value :: options
      type(c_ptr), intent(inout) :: decoder
      integer(c_int32_t) :: fz_plan_open
    end function fz_plan_open
    subroutine fz_plan_free(plan) bind(C, name="fz_plan_free")
      import :: c_ptr
      type(c_ptr), value :: plan
    end subroutine fz_plan_free
    function fz_max_compressed_bytes(plan, bytes) bind(C, name="fz_max_compressed_bytes")
      import :: c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: plan
      integer(c_int64_t), intent(inout) :: bytes
      integer(c_int32_t) :: fz_max_compressed_bytes
    end function fz_max_compressed_bytes
    function fz_workspace_bytes(plan, bytes) bind(C, name="fz_workspace_bytes")
      import :: c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: plan
      integer(c_int64_t), intent(inout) :: bytes
      integer(c_int32_t) :: fz_workspace_bytes
    end function fz_workspace_bytes
    function fz_workspace_new(plan, workspace) bind(C, name="fz_workspace_new")
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: plan
      type(c_ptr), intent(inout) :: workspace
      integer(c_int32_t) :: fz_workspace_new
    end function fz_workspace_new
    function fz_workspace_from_buffer(plan, buffer, buffer_bytes, workspace) bind(C, name="fz_workspace_from_buffer")
      import :: c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: plan, buffer
      integer(c_int64_t), value :: buffer_bytes
      type(c_ptr), intent(inout) :: workspace
      integer(c_int32_t) :: fz_workspace_from_buffer
    end function fz_workspace_from_buffer
    subroutine fz_workspace_free(workspace) bind(C, name="fz_workspace_free")
      import :: c_ptr
      type(c_ptr), value :: workspace
    end subroutine fz_workspace_free
    function fz_compress(plan, workspace, src, src_bytes, dst, dst_capacity_bytes, compressed_bytes) bind(C, name="fz_compress")
      import :: c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: plan, workspace, src
      integer(c_int64_t), value :: src_bytes
      type(c_ptr), value :: dst
      integer(c_int64_t), value :: dst_capacity_bytes
      integer(c_int64_t), intent(inout) :: compressed_bytes
      integer(c_int32_t) :: fz_compress
    end function fz_compress
    function fz_decompress( &
        plan, workspace, container, container_bytes, dst, dst_capacity_bytes, restored_bytes) &
        bind(C, name="fz_decompress")
      import :: c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: plan, workspace, container
      integer(c_int64_t), value :: container_bytes
      type(c_ptr), value :: dst
      integer(c_int64_t), value :: dst_capacity_bytes
      integer(c_int64_t), intent(inout) :: restored_bytes
      integer(c_int32_t) :: fz_decompress
    end function fz_decompress
    function fz_compress_view(plan, workspace, src, dst, dst_capacity_bytes, compressed_bytes) bind(C, name="fz_compress_view")
      import :: c_int32_t, c_int64_t, c_ptr, fz_view_t
      type(c_ptr), value :: plan, workspace
      type(fz_view_t), intent(in) :: src
      type(c_ptr), value :: dst
      integer(c_int64_t), value :: dst_capacity_bytes
      integer(c_int64_t), intent(inout) :: compressed_bytes
      integer(c_int32_t) :: fz_compress_view
    end function fz_compress_view
    function fz_decompress_view(plan, workspace, container, container_bytes, dst, restored_bytes) &
        bind(C, name="fz_decompress_view")
      import :: c_int32_t, c_int64_t, c_ptr, fz_view_t
      type(c_ptr), value :: plan, workspace, container
      integer(c_int64_t), value :: container_bytes
      type(fz_view_t), intent(in) :: dst
      integer(c_int64_t), intent(inout) :: restored_bytes
      integer(c_int32_t) :: fz_decompress_view
    end function fz_decompress_view
    function fz_decompress_region( &
        container, container_bytes, origin, extent, ndim, dst, dst_capacity_bytes, restored_bytes) &
        bind(C, name="fz_decompress_region")
      import :: c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: container
      integer(c_int64_t), value :: container_bytes
      integer(c_int64_t), intent(in) :: origin(*), extent(*)
      integer(c_int32_t), value :: ndim
      type(c_ptr), value :: dst
      integer(c_int64_t), value :: dst_capacity_bytes
      integer(c_int64_t), intent(inout) :: restored_bytes
      integer(c_int32_t) :: fz_decompress_region
    end function fz_decompress_region
    function fz_decompress_preview(container, container_bytes, step, dst, dst_capacity_bytes, restored_bytes) &
        bind(C, name="fz_decompress_preview")
      import :: c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: container
      integer(c_int64_t), value :: container_bytes
      integer(c_int64_t), value :: step
      type(c_ptr), value :: dst
      integer(c_int64_t), value :: dst_capacity_bytes
      integer(c_int64_t), intent(inout) :: restored_bytes
      integer(c_int32_t) :: fz_decompress_preview
    end function fz_decompress_preview
    function fz_decompress_box( &
        container, container_bytes, origin, extent, ndim, dst, dst_capacity_bytes, restored_bytes) &
        bind(C, name="fz_decompress_box")
      import :: c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: container
      integer(c_int64_t), value :: container_bytes
      integer(c_int64_t), intent(in) :: origin(*), extent(*)
      integer(c_int32_t), value :: ndim
      type(c_ptr), value :: dst
      integer(c_int64_t), value :: dst_capacity_bytes
      integer(c_int64_t), intent(inout) :: restored_bytes
      integer(c_int32_t) :: fz_decompress_box
    end function fz_decompress_box
    function fz_batch_plan_new(plans, count, threads, batch) bind(C, name="fz_batch_plan_new")
      import :: c_int32_t, c_int64_t, c_ptr
      type(c_ptr), intent(in) :: plans(*)
      integer(c_int64_t), value :: count
      integer(c_int32_t), value :: threads
      type(c_ptr), intent(inout) :: batch
      integer(c_int32_t) :: fz_batch_plan_new
    end function fz_batch_plan_new
    subroutine fz_batch_plan_free(batch) bind(C, name="fz_batch_plan_free")
      import :: c_ptr
      type(c_ptr), value :: batch
    end subroutine fz_batch_plan_free
    function fz_batch_workspace_bytes(batch, bytes) bind(C, name="fz_batch_workspace_bytes")
      import :: c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: batch
      integer(c_int64_t), intent(inout) :: bytes
      integer(c_int32_t) :: fz_batch_workspace_bytes
    end function fz_batch_workspace_bytes
    function fz_batch_workspace_new(batch, workspace) bind(C, name="fz_batch_workspace_new")
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: batch
      type(c_ptr), intent(inout) :: workspace
      integer(c_int32_t) :: fz_batch_workspace_new
    end function fz_batch_workspace_new
    subroutine fz_batch_workspace_free(workspace) bind(C, name="fz_batch_workspace_free")
      import :: c_ptr
      type(c_ptr), value :: workspace
    end subroutine fz_batch_workspace_free
    function fz_compress_batch(batch, workspace, src, src_bytes, dst, dst_capacity_bytes, results) &
        bind(C, name="fz_compress_batch")
      import :: c_int32_t, c_int64_t, c_ptr, fz_result_t
      type(c_ptr), value :: batch, workspace
      type(c_ptr), intent(in) :: src(*), dst(*)
      integer(c_int64_t), intent(in) :: src_bytes(*), dst_capacity_bytes(*)
      type(fz_result_t), intent(inout) :: results(*)
      integer(c_int32_t) :: fz_compress_batch
    end function fz_compress_batch
    function fz_decompress_batch(batch, workspace, containers, container_bytes, dst, dst_capacity_bytes, results) &
        bind(C, name="fz_decompress_batch")
      import :: c_int32_t, c_int64_t, c_ptr, fz_result_t
      type(c_ptr), value :: batch, workspace
      type(c_ptr), intent(in) :: containers(*), dst(*)
      integer(c_int64_t), intent(in) :: container_bytes(*), dst_capacity_bytes(*)
      type(fz_result_t), intent(inout) :: results(*)
      integer(c_int32_t) :: fz_decompress_batch
    end function fz_decompress_batch
    function fz_device_count(count) bind(C, name="fz_device_count")
      import :: c_int32_t
      integer(c_int32_t), intent(inout) :: count
      integer(c_int32_t) :: fz_device_count
    end function fz_device_count
    function fz_device_info(index, device) bind(C, name="fz_device_info")
      import :: c_int32_t, fz_device_t
      integer(c_int32_t), value :: index
      type(fz_device_t), intent(inout) :: device
      integer(c_int32_t) :: fz_device_info
    end function fz_device_info
    function fz_plan_preload(plan, workspace, stream) bind(C, name="fz_plan_preload")
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: plan, workspace, stream
      integer(c_int32_t) :: fz_plan_preload
    end function fz_plan_preload
    function fz_compress_async( &
        plan, workspace, src, src_bytes, dst, dst_capacity_bytes, result, stream) &
        bind(C, name="fz_compress_async")
      import :: c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: plan, workspace, src
      integer(c_int64_t), value :: src_bytes
      type(c_ptr), value :: dst
      integer(c_int64_t), value :: dst_capacity_bytes
      type(c_ptr), value :: result, stream
      integer(c_int32_t) :: fz_compress_async
    end function fz_compress_async
    function fz_decompress_async( &
        plan, workspace, container, container_capacity_bytes, dst, dst_capacity_bytes, result, stream) &
        bind(C, name="fz_decompress_async")
      import :: c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: plan, workspace, container
      integer(c_int64_t), value :: container_capacity_bytes
      type(c_ptr), value :: dst
      integer(c_int64_t), value :: dst_capacity_bytes
      type(c_ptr), value :: result, stream
      integer(c_int32_t) :: fz_decompress_async
    end function fz_decompress_async
    function fz_compress_view_async( &
        plan, workspace, src, scratch, scratch_bytes, dst, dst_capacity_bytes, result, stream) &
        bind(C, name="fz_compress_view_async")
      import :: c_int32_t, c_int64_t, c_ptr, fz_view_t
      type(c_ptr), value :: plan, workspace
      type(fz_view_t), intent(in) :: src
      type(c_ptr), value :: scratch
      integer(c_int64_t), value :: scratch_bytes
      type(c_ptr), value :: dst
      integer(c_int64_t), value :: dst_capacity_bytes
      type(c_ptr), value :: result, stream
      integer(c_int32_t) :: fz_compress_view_async
    end function fz_compress_view_async
    function fz_decompress_view_async( &
        plan, workspace, container, container_capacity_bytes, dst, scratch, scratch_bytes, result, stream) &
        bind(C, name="fz_decompress_view_async")
      import :: c_int32_t, c_int64_t, c_ptr, fz_view_t
      type(c_ptr), value :: plan, workspace, container
      integer(c_int64_t), value :: container_capacity_bytes
      type(fz_view_t), intent(in) :: dst
      type(c_ptr), value :: scratch
      integer(c_int64_t), value :: scratch_bytes
      type(c_ptr), value :: result, stream
      integer(c_int32_t) :: fz_decompress_view_async
    end function fz_decompress_view_async
    function fz_batch_preload(batch, workspace, stream) bind(C, name="fz_batch_preload")
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: batch, workspace, stream
      integer(c_int32_t) :: fz_batch_preload
    end function fz_batch_preload
    function fz_compress_batch_async(batch, workspace, src, dst, dst_capacity_bytes, results, stream) &
        bind(C, name="fz_compress_batch_async")
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: batch, workspace, src, dst, dst_capacity_bytes, results, stream
      integer(c_int32_t) :: fz_compress_batch_async
    end function fz_compress_batch_async
    function fz_decompress_batch_async( &
        batch, workspace, containers, container_capacity_bytes, dst, dst_capacity_bytes, results, stream) &
        bind(C, name="fz_decompress_batch_async")
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: batch, workspace, containers, container_capacity_bytes
      type(c_ptr), value :: dst, dst_capacity_bytes, results, stream
      integer(c_int32_t) :: fz_decompress_batch_async
    end function fz_decompress_batch_async
    function fz_container_info(container, container_bytes, info) bind(C, name="fz_container_info")
      import :: c_int32_t, c_int64_t, c_ptr, fz_info_t
      type(c_ptr), value :: container
      integer(c_int64_t), value :: container_bytes
      type(fz_info_t), intent(inout) :: info
      integer(c_int32_t) :: fz_container_info
    end function fz_container_info
    function fz_container_shape(container, container_bytes, dims, ndim) bind(C, name="fz_container_shape")
      import :: c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: container
      integer(c_int64_t), value :: container_bytes
      integer(c_int64_t), intent(inout) :: dims(*)
      integer(c_int32_t), intent(inout) :: ndim
      integer(c_int32_t) :: fz_container_shape
    end function fz_container_shape
    function fz_container_info_partial(beginning, beginning_bytes, info, needed_bytes) &
        bind(C, name="fz_container_info_partial")
      import :: c_int32_t, c_int64_t, c_ptr, fz_info_t
      type(c_ptr), value :: beginning
      integer(c_int64_t), value :: beginning_bytes
      type(fz_info_t), intent(inout) :: info
      integer(c_int64_t), intent(inout) :: needed_bytes
      integer(c_int32_t) :: fz_container_info_partial
    end function fz_container_info_partial
    function fz_pipeline_from_container(container, container_bytes, pipeline) bind(C, name="fz_pipeline_from_container")
      import :: c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: container
      integer(c_int64_t), value :: container_bytes
      type(c_ptr), intent(inout) :: pipeline
      integer(c_int32_t) :: fz_pipeline_from_container
    end function fz_pipeline_from_container
    function fz_compress_file(plan, workspace, src, src_bytes, path, compressed_bytes) bind(C, name="fz_compress_file")
      import :: c_char, c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: plan, workspace, src
      integer(c_int64_t), value :: src_bytes
      character(kind=c_char), intent(in) :: path(*)
      integer(c_int64_t), intent(inout) :: compressed_bytes
      integer(c_int32_t) :: fz_compress_file
    end function fz_compress_file
    function fz_decompress_file(plan, workspace, path, dst, dst_capacity_bytes, restored_bytes) &
        bind(C, name="fz_decompress_file")
      import :: c_char, c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: plan, workspace
      character(kind=c_char), intent(in) :: path(*)
      type(c_ptr), value :: dst
      integer(c_int64_t), value :: dst_capacity_bytes
      integer(c_int64_t), intent(inout) :: restored_bytes
      integer(c_int32_t) :: fz_decompress_file
    end function fz_decompress_file
    function fz_decompress_region_file(path, origin, extent, ndim, dst, dst_capacity_bytes, restored_bytes) &
        bind(C, name="fz_decompress_region_file")
      import :: c_char, c_int32_t, c_int64_t, c_ptr
      character(kind=c_char), intent(in) :: path(*)
      integer(c_int64_t), intent(in) :: origin(*), extent(*)
      integer(c_int32_t), value :: ndim
      type(c_ptr), value :: dst
      integer(c_int64_t), value :: dst_capacity_bytes
      integer(c_int64_t), intent(inout) :: restored_bytes
      integer(c_int32_t) :: fz_decompress_region_file
    end function fz_decompress_region_file
    function fz_decompress_preview_file(path, step, dst, dst_capacity_bytes, restored_bytes) &
        bind(C, name="fz_decompress_preview_file")
      import :: c_char, c_int32_t, c_int64_t, c_ptr
      character(kind=c_char), intent(in) :: path(*)
      integer(c_int64_t), value :: step
      type(c_ptr), value :: dst
      integer(c_int64_t), value :: dst_capacity_bytes
      integer(c_int64_t), intent(inout) :: restored_bytes
      integer(c_int32_t) :: fz_decompress_preview_file
    end function fz_decompress_preview_file
    function fz_decompress_box_file(path, origin, extent, ndim, dst, dst_capacity_bytes, restored_bytes) &
        bind(C, name="fz_decompress_box_file")
      import :: c_char, c_int32_t, c_int64_t, c_ptr
      character(kind=c_char), intent(in) :: path(*)
      integer(c_int64_t), intent(in) :: origin(*), extent(*)
      integer(c_int32_t), value :: ndim
      type(c_ptr), value :: dst
      integer(c_int64_t), value :: dst_capacity_bytes
      integer(c_int64_t), intent(inout) :: restored_bytes
      integer(c_int32_t) :: fz_decompress_box_file
    end function fz_decompress_box_file
    function fz_file_info(path, info) bind(C, name="fz_file_info")
      import :: c_char, c_int32_t, fz_info_t
      character(kind=c_char), intent(in) :: path(*)
      type(fz_info_t), intent(inout) :: info
      integer(c_int32_t) :: fz_file_info
    end function fz_file_info
    function fz_series_open(path, series) bind(C, name="fz_series_open")
      import :: c_char, c_int32_t, c_ptr
      character(kind=c_char), intent(in) :: path(*)
      type(c_ptr), intent(inout) :: series
      integer(c_int32_t) :: fz_series_open
    end function fz_series_open
    subroutine fz_series_free(series) bind(C, name="fz_series_free")
      import :: c_ptr
      type(c_ptr), value :: series
    end subroutine fz_series_free
    function fz_series_info(series, summary) bind(C, name="fz_series_info")
      import :: c_int32_t, c_ptr, fz_series_summary_t
      type(c_ptr), value :: series
      type(fz_series_summary_t), intent(inout) :: summary
      integer(c_int32_t) :: fz_series_info
    end function fz_series_info
    function fz_series_step_info(series, step, info) bind(C, name="fz_series_step_info")
      import :: c_int32_t, c_int64_t, c_ptr, fz_step_t
      type(c_ptr), value :: series
      integer(c_int64_t), value :: step
      type(fz_step_t), intent(inout) :: info
      integer(c_int32_t) :: fz_series_step_info
    end function fz_series_step_info
    function fz_series_find(series, name, step) bind(C, name="fz_series_find")
      import :: c_char, c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: series
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int64_t), intent(inout) :: step
      integer(c_int32_t) :: fz_series_find
    end function fz_series_find
    function fz_series_read(series, step, options, dst, dst_capacity_bytes, restored_bytes) bind(C, name="fz_series_read")
      import :: c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: series
      integer(c_int64_t), value :: step
      type(c_ptr), value :: options, dst
      integer(c_int64_t), value :: dst_capacity_bytes
      integer(c_int64_t), intent(inout) :: restored_bytes
      integer(c_int32_t) :: fz_series_read
    end function fz_series_read
    function fz_series_read_region(series, step, origin, extent, ndim, dst, dst_capacity_bytes, restored_bytes) &
        bind(C, name="fz_series_read_region")
      import :: c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: series
      integer(c_int64_t), value :: step
      integer(c_int64_t), intent(in) :: origin(*), extent(*)
      integer(c_int32_t), value :: ndim
      type(c_ptr), value :: dst
      integer(c_int64_t), value :: dst_capacity_bytes
      integer(c_int64_t), intent(inout) :: restored_bytes
      integer(c_int32_t) :: fz_series_read_region
    end function fz_series_read_region
    function fz_series_writer_open(path, sync, writer) bind(C, name="fz_series_writer_open")
      import :: c_char, c_int32_t, c_ptr
      character(kind=c_char), intent(in) :: path(*)
      integer(c_int32_t), value :: sync
      type(c_ptr), intent(inout) :: writer
      integer(c_int32_t) :: fz_series_writer_open
    end function fz_series_writer_open
    subroutine fz_series_writer_free(writer) bind(C, name="fz_series_writer_free")
      import :: c_ptr
      type(c_ptr), value :: writer
    end subroutine fz_series_writer_free
    function fz_series_append(writer, name, plan, workspace, src, src_bytes, step) bind(C, name="fz_series_append")
      import :: c_char, c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: writer
      character(kind=c_char), intent(in) :: name(*)
      type(c_ptr), value :: plan, workspace, src
      integer(c_int64_t), value :: src_bytes
      integer(c_int64_t), intent(inout) :: step
      integer(c_int32_t) :: fz_series_append
    end function fz_series_append
    function fz_series_append_container(writer, name, container, container_bytes, step) &
        bind(C, name="fz_series_append_container")
      import :: c_char, c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: writer
      character(kind=c_char), intent(in) :: name(*)
      type(c_ptr), value :: container
      integer(c_int64_t), value :: container_bytes
      integer(c_int64_t), intent(inout) :: step
      integer(c_int32_t) :: fz_series_append_container
    end function fz_series_append_container
    function fz_series_begin(writer, name, dtype, dims, ndim, slab_rows) bind(C, name="fz_series_begin")
      import :: c_char, c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: writer
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int32_t), value :: dtype
      integer(c_int64_t), intent(in) :: dims(*)
      integer(c_int32_t), value :: ndim
      integer(c_int64_t), value :: slab_rows
      integer(c_int32_t) :: fz_series_begin
    end function fz_series_begin
    function fz_series_slab(writer, container, container_bytes) bind(C, name="fz_series_slab")
      import :: c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: writer, container
      integer(c_int64_t), value :: container_bytes
      integer(c_int32_t) :: fz_series_slab
    end function fz_series_slab
    function fz_series_end(writer, step) bind(C, name="fz_series_end")
      import :: c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: writer
      integer(c_int64_t), intent(inout) :: step
      integer(c_int32_t) :: fz_series_end
    end function fz_series_end
    function fz_series_abandon(writer) bind(C, name="fz_series_abandon")
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: writer
      integer(c_int32_t) :: fz_series_abandon
    end function fz_series_abandon
  end interface

  interface
    pure function fz_strlen(text) bind(C, name="strlen")
      import :: c_ptr, c_size_t
      type(c_ptr), value :: text
      integer(c_size_t) :: fz_strlen
    end function fz_strlen
  end interface
  private :: text_at_pointer, text_of_field

contains

  ! Converts a Fortran string to a C string: removes trailing blanks and appends a zero.
  pure function fz_c(text) result(zero_ended)
    character(len=*), intent(in) :: text
    character(kind=c_char, len=len_trim(text) + 1) :: zero_ended
    zero_ended = trim(text)//c_null_char
  end function fz_c

  ! Returns the error text of the last failed call of this thread, see fz_last_error().
  function fz_last_error_text() result(text)
    character(len=:), allocatable :: text
    text = text_at_pointer(fz_last_error())
  end function fz_last_error_text

  function text_at_pointer(pointer) result(text)
    type(c_ptr), intent(in) :: pointer
    character(len=:), allocatable :: text
    character(kind=c_char), dimension(:), pointer :: letters
    if (.not. c_associated(pointer)) then
      text = ""
      return
    end if
    call c_f_pointer(pointer, letters, [fz_strlen(pointer) + 1_c_size_t])
    text = text_of_field(letters)
  end function text_at_pointer

  pure function text_of_field(letters) result(text)
    character(kind=c_char), intent(in) :: letters(:)
    character(len=:), allocatable :: text
    integer :: i, n
    n = 0
    do i = 1, size(letters)
      if (letters(i) == c_null_char) exit
      n = i
    end do
    allocate (character(len=n) :: text)
    do i = 1, n
      text(i:i) = letters(i)
    end do
  end function text_of_field

end module fzgm
