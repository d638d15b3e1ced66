! Compresses a raw float32 file in memory, restores it, and prints ratio and errors. Fortran 2008.
!
!   quickstart_f90 <file.f32> <nx> <ny>        x runs fastest
program quickstart
  use fzgm
  use, intrinsic :: iso_fortran_env, only: error_unit
  implicit none
  real(c_float), allocatable, target :: x(:, :), y(:, :)
  integer(c_int8_t), allocatable, target :: container(:)
  type(c_ptr) :: pipeline = c_null_ptr, plan = c_null_ptr
  integer(c_int64_t) :: capacity, bytes, restored
  real(c_double) :: bound, worst
  character(len=4096) :: path
  integer :: unit

  call get_command_argument(1, path)
  allocate (x(number(2), number(3)))
  allocate (y, mold=x)
  open (newunit=unit, file=trim(path), access="stream", form="unformatted", status="old", action="read")
  read (unit) x
  close (unit)

  call try(fz_pipeline_from_text(fz_c("lorenzo_quant(mode=noa) > bitshuffle(width=2) > rze"), pipeline))
  call try(fz_pipeline_set_double(pipeline, FZ_EVERY_STAGE, fz_c("error_bound"), 1.0e-3_c_double)) ! of the value range
  call try(fz_pipeline_finalize(pipeline, FZ_F32, shape(x, c_int64_t), 2_c_int32_t, c_null_ptr, plan))
  call try(fz_max_compressed_bytes(plan, capacity))
  allocate (container(capacity))
  call try(fz_compress(plan, c_null_ptr, c_loc(x), bytes_of(x), c_loc(container), capacity, bytes))
  call try(fz_decompress(c_null_ptr, c_null_ptr, c_loc(container), bytes, c_loc(y), bytes_of(y), restored))
  call fz_plan_free(plan)
  call fz_pipeline_free(pipeline)

  bound = 1.0e-3_c_double*(real(maxval(x), c_double) - real(minval(x), c_double))
  worst = maxval(abs(real(x, c_double) - real(y, c_double)))
  print '(3a, i0, a, i0, a, f0.4)', "fzgm ", fz_f(fz_version()), ": ", bytes_of(x), " -> ", bytes, &
    " bytes, worst error / bound ", worst/bound
  if (worst > bound .or. restored /= bytes_of(x)) error stop 1

contains

  subroutine try(status)
    integer(c_int32_t), intent(in) :: status
    if (status == FZ_OK) return
    write (error_unit, '(a)') fz_last_error_text()
    error stop 1
  end subroutine try

  pure function bytes_of(array) result(bytes)
    real(c_float), intent(in) :: array(:, :)
    integer(c_int64_t) :: bytes
    bytes = size(array, kind=c_int64_t)*storage_size(array, c_int64_t)/8
  end function bytes_of

  function number(position) result(value)
    integer, intent(in) :: position
    integer :: value
    character(len=32) :: text
    call get_command_argument(position, text)
    read (text, *) value
  end function number

end program quickstart
