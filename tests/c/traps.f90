! A Fortran program as debug builds make it, with -ffpe-trap=invalid,zero,overflow: no call of the library ends it.
program traps
  use fzgm
  use, intrinsic :: iso_fortran_env, only: error_unit
  use, intrinsic :: ieee_arithmetic, only: ieee_value, ieee_quiet_nan, ieee_positive_inf, ieee_is_finite
  implicit none

  integer, parameter :: n = 10000
  character(len=*), parameter :: presets(10) = &
    [character(len=8) :: "pfpl", "fz", "cusz", "cusz_ans", "bits", "lc_speed", "lc_ratio", "lc_tp", "lc_cr", "fast"]
  real(c_float), target :: x(n), y(n)
  integer :: i

  x = [(sin(real(i) * 1e-3), i = 1, n)]
  x(77) = ieee_value(x(77), ieee_quiet_nan)
  x(78) = ieee_value(x(78), ieee_positive_inf)
  do i = 1, size(presets)
    call round_trip(trim(presets(i)), "noa")
  end do
  call round_trip("pfpl", "rel")
  print '(a)', "no trap in any preset"

contains

  subroutine ok(got)
    integer(c_int32_t), intent(in) :: got
    if (got == FZ_OK) return
    write (error_unit, '(a)') fz_last_error_text()
    error stop 1
  end subroutine ok

  subroutine round_trip(preset, mode)
    character(len=*), intent(in) :: preset, mode
    integer(c_int8_t), allocatable, target :: container(:)
    type(c_ptr) :: pipeline, plan
    integer(c_int64_t) :: capacity, bytes, restored
    integer :: k
    call ok(fz_pipeline_from_preset(fz_c(preset), FZ_F32, pipeline))
    if (preset /= "bits") call ok(fz_pipeline_set_string(pipeline, FZ_EVERY_STAGE, fz_c("mode"), fz_c(mode)))
    call ok(fz_pipeline_finalize(pipeline, FZ_F32, shape(x, c_int64_t), 1_c_int32_t, c_null_ptr, plan))
    call ok(fz_max_compressed_bytes(plan, capacity))
    allocate (container(capacity))
    call ok(fz_compress(plan, c_null_ptr, c_loc(x), 4_c_int64_t * n, c_loc(container), capacity, bytes))
    call ok(fz_decompress(c_null_ptr, c_null_ptr, c_loc(container), bytes, c_loc(y), 4_c_int64_t * n, restored))
    do k = 1, n
      if (.not. ieee_is_finite(x(k))) cycle
      if (abs(x(k) - y(k)) > 2.1e-3) error stop "the bound does not hold"
    end do
    call fz_plan_free(plan)
    call fz_pipeline_free(pipeline)
  end subroutine round_trip
end program traps
