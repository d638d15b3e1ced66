! fzgm.f90 in Fortran 2008: every kind of function, the structures by their sizes, texts in both directions, and failures.
program test_fortran
  use fzgm
  use, intrinsic :: iso_fortran_env, only: error_unit
  implicit none

  call about()
  call round_trip()
  call boxes()
  call views_and_series()
  call texts()
  call listings()
  call devices()
  print '(a)', "fzgm.f90: every function as in C"

contains

  subroutine check(good, what)
    logical, intent(in) :: good
    character(len=*), intent(in) :: what
    if (good) return
    write (error_unit, '(3a)') what, " is not true; last error: ", fz_last_error_text()
    error stop 1
  end subroutine check

  subroutine gives(want, got, what)
    integer(c_int32_t), intent(in) :: want, got
    character(len=*), intent(in) :: what
    if (want == got) return
    write (error_unit, '(2a, i0, a, i0, 2a)') what, " gives ", got, ", expected ", want, "; last error: ", fz_last_error_text()
    error stop 1
  end subroutine gives

  subroutine ok(got, what)
    integer(c_int32_t), intent(in) :: got
    character(len=*), intent(in) :: what
    call gives(FZ_OK, got, what)
  end subroutine ok

  subroutine about()
    call check(fz_abi_version() == FZ_ABI, "the binary interface")
    call check(len(fz_f(fz_version())) >= 5, "version")
    call check(len(fz_f(fz_build_info())) > 5, "build")
    call check(fz_f(fz_strerror(FZ_OK)) == "ok", "strerror")
    call check(fz_last_error_text() == "", "no error yet")
    call check(fz_f(c_null_ptr) == "", "no text")
    call check(fz_c("a b  ") == "a b"//c_null_char, "a text")
  end subroutine about

  subroutine round_trip()
    integer, parameter :: nx = 60, ny = 50
    real(c_double), target :: x(nx, ny), y(nx, ny)
    integer(c_int8_t), allocatable, target :: container(:)
    type(fz_options_t), target :: options
    type(fz_info_t) :: info
    type(c_ptr) :: pipeline = c_null_ptr, plan = c_null_ptr, decoder = c_null_ptr, opened = c_null_ptr
    type(c_ptr) :: encoding = c_null_ptr, decoding = c_null_ptr
    integer(c_int64_t) :: bytes, capacity, restored, length
    type(c_ptr) :: again = c_null_ptr, lent = c_null_ptr
    integer(c_int8_t), allocatable, target :: memory(:)
    integer(c_int64_t) :: needed
    integer(c_int32_t) :: first, second
    integer :: i, j, unit
    character(len=1000) :: path

    do j = 1, ny
      do i = 1, nx
        x(i, j) = sin(0.1d0*i) + 0.01d0*j
      end do
    end do
    length = 8_c_int64_t*nx*ny

    block
      integer(c_int8_t), allocatable, target :: one(:)
      type(fz_fill_t) :: fill
      type(fz_wish_t) :: wish
      type(fz_choice_t) :: choice

      capacity = 0
      call ok(fz_compress_simple(fz_c("fast"), FZ_F64, shape(x, c_int64_t), 2_c_int32_t, FZ_MODE_ABS, 1e-3_c_double, &
        c_loc(x), length, c_null_ptr, 0_c_int64_t, capacity), "the capacity for compress_simple")
      allocate (one(capacity))
      call ok(fz_compress_simple(fz_c("fast"), FZ_F64, shape(x, c_int64_t), 2_c_int32_t, FZ_MODE_ABS, 1e-3_c_double, &
        c_loc(x), length, c_loc(one), capacity, bytes), "compress_simple")
      call ok(fz_decompress(c_null_ptr, c_null_ptr, c_loc(one), bytes, c_loc(y), length, restored), "decompress")
      call check(maxval(abs(x - y)) <= 1e-3_c_double, "the bound of compress_simple")
      fill%struct_bytes = int(c_sizeof(fill), c_int32_t)
      call ok(fz_find_fill_value(FZ_F64, c_loc(x), length, huge(1.0_c_double), fill), "find_fill_value")
      call check(fill%found == 0, "no fill value")
      x(3, 3) = 1e30_c_double
      call ok(fz_find_fill_value(FZ_F64, c_loc(x), length, huge(1.0_c_double), fill), "find_fill_value")
      call check(fill%found == 1 .and. fill%count == 1, "a fill value")
      x(3, 3) = sin(0.3d0) + 0.03d0
      wish%struct_bytes = int(c_sizeof(wish), c_int32_t)
      wish%goal = FZ_GOAL_SPEED
      wish%mode = FZ_MODE_ABS
      wish%bound = 1e-3_c_double
      choice%struct_bytes = int(c_sizeof(choice), c_int32_t)
      call ok(fz_pipeline_choose(wish, FZ_F64, shape(x, c_int64_t), 2_c_int32_t, c_loc(x), length, pipeline, choice), &
        "pipeline_choose")
      call check(fz_f(choice%preset) == "fast" .and. choice%mode == FZ_MODE_ABS, "the preset of a choice")
      call check(abs(choice%bound - wish%bound) <= 0 .and. fz_f(choice%lattice) == "", "the bound of a choice")
      call ok(fz_pipeline_finalize(pipeline, FZ_F64, shape(x, c_int64_t), 2_c_int32_t, c_null_ptr, plan), "finalize")
      call ok(fz_compress(plan, c_null_ptr, c_loc(x), length, c_loc(one), capacity, bytes), "compress")
      call ok(fz_decompress(c_null_ptr, c_null_ptr, c_loc(one), bytes, c_loc(y), length, restored), "decompress")
      call check(maxval(abs(x - y)) <= 1e-3_c_double, "the bound of a chosen pipeline")
      call fz_plan_free(plan)
      call fz_pipeline_free(pipeline)
      wish%target_psnr = 60.0_c_double
      call gives(FZ_INVALID_ARGUMENT, fz_pipeline_choose(wish, FZ_F64, shape(x, c_int64_t), 2_c_int32_t, c_loc(x), length, &
        pipeline, choice), "a choice with a bound and a target")
    end block

    call ok(fz_pipeline_new(pipeline), "pipeline_new")
    call ok(fz_pipeline_add_stage(pipeline, fz_c("quantizer"), first), "add_stage")
    call ok(fz_pipeline_add_stage(pipeline, fz_c("rze"), second), "add_stage")
    call ok(fz_pipeline_connect(pipeline, first, fz_c("codes"), second), "connect")
    call ok(fz_pipeline_set_string(pipeline, first, fz_c("mode"), fz_c("abs")), "set_string")
    call ok(fz_pipeline_set_double(pipeline, FZ_EVERY_STAGE, fz_c("error_bound"), 1.0e-4_c_double), "set_double")
    call ok(fz_pipeline_set_int(pipeline, second, fz_c("word_size"), 4_c_int64_t), "set_int")
    call ok(fz_options_init(options), "options_init")
    call check(options%struct_bytes == c_sizeof(options) .and. options%strict == 1, "options")
    options%container = FZ_CONTAINER_COMPACT
    call ok(fz_pipeline_finalize(pipeline, FZ_F64, shape(x, c_int64_t), 2_c_int32_t, c_loc(options), plan), "finalize")
    call ok(fz_plan_decoder(plan, decoder), "decoder")
    call ok(fz_workspace_bytes(plan, bytes), "workspace_bytes")
    call ok(fz_workspace_new(plan, encoding), "workspace")
    call ok(fz_workspace_new(decoder, decoding), "workspace")
    call ok(fz_max_compressed_bytes(plan, capacity), "max_compressed_bytes")
    allocate (container(capacity))
    call ok(fz_compress(plan, encoding, c_loc(x), length, c_loc(container), capacity, bytes), "compress")
    call check(bytes < length, "smaller")

    y = 0
    call ok(fz_decompress(decoder, decoding, c_loc(container), bytes, c_loc(y), length, restored), "decompress")
    call check(restored == length .and. maxval(abs(x - y)) <= 1.0e-4_c_double, "the bound")
    y = 0
    call ok(fz_plan_open(c_loc(container), bytes, c_null_ptr, opened), "open")
    call ok(fz_decompress(opened, c_null_ptr, c_loc(container), bytes, c_loc(y), length, restored), "decompress")
    call check(maxval(abs(x - y)) <= 1.0e-4_c_double, "the bound again")

    call gives(FZ_INVALID_ARGUMENT, fz_container_info(c_loc(container), bytes, info), "info without its length")
    info%struct_bytes = int(c_sizeof(info), c_int32_t)
    call ok(fz_container_info(c_loc(container), bytes, info), "info")
    call check(all(info%dims == [nx, ny, 1]) .and. info%dtype == FZ_F64 .and. info%mode == FZ_MODE_ABS, "info")
    call check(info%container == FZ_CONTAINER_COMPACT .and. info%container_bytes == bytes .and. info%stages == 2, "info")

    ! From the beginning alone, which determines how much more is needed.
    restored = 0
    do i = 1, 20
      if (fz_container_info_partial(c_loc(container), restored, info, needed) /= FZ_TRUNCATED) exit
      restored = needed
    end do
    call check(i > 1 .and. i < 20 .and. needed <= restored .and. info%container_bytes == bytes, "info of a beginning")
    call ok(fz_pipeline_from_container(c_loc(container), bytes, again), "from_container")
    call ok(fz_pipeline_stage_count(again, first), "stage_count")
    call check(first == 2, "the pipeline of a container")
    first = 0
    call fz_pipeline_free(again)

    call ok(fz_workspace_bytes(plan, needed), "workspace_bytes")
    allocate (memory(needed))
    call ok(fz_workspace_from_buffer(plan, c_loc(memory), needed, lent), "workspace_from_buffer")
    call get_command_argument(0, path)
    path = trim(path)//".fzc"
    call ok(fz_compress_file(plan, lent, c_loc(x), length, fz_c(path), restored), "compress_file")
    call check(restored == bytes, "the file has the same bytes")
    call ok(fz_file_info(fz_c(path), info), "file_info")
    call check(info%container_bytes == bytes, "info of a file")
    y = 0
    call ok(fz_decompress_file(c_null_ptr, c_null_ptr, fz_c(path), c_loc(y), length, restored), "decompress_file")
    call check(restored == length .and. maxval(abs(x - y)) <= 1.0e-4_c_double, "the bound in a file")
    call gives(FZ_FILE, fz_file_info(fz_c("no/such/folder"), info), "no such file")
    open (newunit=unit, file=trim(path), status="old")
    close (unit, status="delete")
    call fz_workspace_free(lent)

    call gives(FZ_DST_TOO_SMALL, fz_decompress(c_null_ptr, c_null_ptr, c_loc(container), bytes, c_loc(y), 8_c_int64_t, restored), &
      "a small destination")
    call gives(FZ_NULL_POINTER, fz_compress(c_null_ptr, c_null_ptr, c_loc(x), length, c_loc(container), capacity, bytes), "no plan")
    call gives(FZ_INVALID_ARGUMENT, fz_pipeline_set_double(pipeline, first, fz_c("error_bound"), -1.0_c_double), "a bound below 0")
    call check(index(fz_last_error_text(), "quantizer.error_bound") > 0, "the text names the parameter")
    call fz_workspace_free(encoding)
    call fz_workspace_free(decoding)
    call fz_plan_free(opened)
    call fz_plan_free(decoder)
    call fz_plan_free(plan)
    call fz_pipeline_free(pipeline)
  end subroutine round_trip

  ! A part of an array, from memory and from a file.
  subroutine boxes()
    integer, parameter :: nx = 60, ny = 50
    real(c_double), target :: x(nx, ny), y(nx, ny), part(20, 10), same(20, 10)
    integer(c_int8_t), allocatable, target :: container(:)
    type(c_ptr) :: pipeline = c_null_ptr, plan = c_null_ptr
    integer(c_int64_t) :: bytes, capacity, restored, length
    integer :: i, j, unit
    character(len=1000) :: path

    do j = 1, ny
      do i = 1, nx
        x(i, j) = sin(0.1d0*i) + 0.01d0*j
      end do
    end do
    length = 8_c_int64_t*nx*ny
    call ok(fz_pipeline_from_preset(fz_c("fast"), FZ_F64, pipeline), "from_preset")
    call ok(fz_pipeline_finalize(pipeline, FZ_F64, shape(x, c_int64_t), 2_c_int32_t, c_null_ptr, plan), "finalize")
    call ok(fz_max_compressed_bytes(plan, capacity), "max_compressed_bytes")
    allocate (container(capacity))
    call ok(fz_compress(plan, c_null_ptr, c_loc(x), length, c_loc(container), capacity, bytes), "compress")
    call ok(fz_decompress(c_null_ptr, c_null_ptr, c_loc(container), bytes, c_loc(y), length, restored), "decompress")
    call get_command_argument(0, path)
    path = trim(path)//"_box.fzm"
    call ok(fz_compress_file(plan, c_null_ptr, c_loc(x), length, fz_c(path), restored), "compress_file")
    call ok(fz_decompress_region(c_loc(container), bytes, [30_c_int64_t, 25_c_int64_t], [20_c_int64_t, 10_c_int64_t], &
      2_c_int32_t, c_loc(same), c_sizeof(same), restored), "decompress_region")
    call ok(fz_decompress_region_file(fz_c(path), [30_c_int64_t, 25_c_int64_t], [20_c_int64_t, 10_c_int64_t], &
      2_c_int32_t, c_loc(part), c_sizeof(part), restored), "decompress_region_file")
    call check(restored == c_sizeof(part), "the length of a box")
    call check(all(abs(part - y(31:50, 26:35)) <= 0) .and. all(abs(same - part) <= 0), "a box is a part of the whole")
    call ok(fz_decompress_preview(c_loc(container), bytes, 1_c_int64_t, c_loc(y), length, restored), "decompress_preview")
    call ok(fz_decompress_preview_file(fz_c(path), 32_c_int64_t, c_loc(same), c_sizeof(same), restored), &
      "decompress_preview_file")
    call gives(FZ_INVALID_ARGUMENT, fz_decompress_preview(c_loc(container), bytes, 3_c_int64_t, c_loc(y), length, restored), &
      "a preview of every third element")
    call gives(FZ_INVALID_ARGUMENT, fz_decompress_region_file(fz_c(path), [50_c_int64_t, 25_c_int64_t], &
      [20_c_int64_t, 10_c_int64_t], 2_c_int32_t, c_loc(part), c_sizeof(part), restored), "a box outside")
    open (newunit=unit, file=trim(path), status="old")
    close (unit, status="delete")
    call gives(FZ_FILE, fz_decompress_region_file(fz_c(path), [30_c_int64_t, 25_c_int64_t], [20_c_int64_t, 10_c_int64_t], &
      2_c_int32_t, c_loc(part), c_sizeof(part), restored), "a box of no file")
    call fz_plan_free(plan)
    call fz_pipeline_free(pipeline)
  end subroutine boxes

  subroutine views_and_series()
    integer, parameter :: nx = 20, ny = 10, ghost = 2
    real(c_float), target :: grid(1 - ghost:nx + ghost, 1 - ghost:ny + ghost), same(1 - ghost:nx + ghost, 1 - ghost:ny + ghost)
    real(c_float), target :: row(nx), interior(nx, ny)
    integer(c_int8_t), allocatable, target :: container(:)
    type(fz_view_t) :: view
    type(fz_series_summary_t) :: summary
    type(fz_step_t) :: step
    type(c_ptr) :: pipeline = c_null_ptr, plan = c_null_ptr, writer = c_null_ptr, series = c_null_ptr
    integer(c_int64_t) :: capacity, bytes, restored, at
    integer :: i, j
    character(len=1000) :: path

    do j = lbound(grid, 2), ubound(grid, 2)
      do i = lbound(grid, 1), ubound(grid, 1)
        grid(i, j) = sin(0.1*i) + 0.01*j
      end do
    end do
    same = 9.0
    call ok(fz_pipeline_from_preset(fz_c("bits"), FZ_F32, pipeline), "preset")
    call ok(fz_pipeline_finalize(pipeline, FZ_F32, [int(nx, c_int64_t), int(ny, c_int64_t)], 2_c_int32_t, c_null_ptr, plan), &
      "finalize")
    call fz_pipeline_free(pipeline)
    call ok(fz_max_compressed_bytes(plan, capacity), "max_compressed_bytes")
    allocate (container(capacity))
    view%struct_bytes = int(c_sizeof(view), c_int32_t)
    view%dtype = FZ_F32
    view%ndim = 2
    view%origin = c_loc(grid(1, 1))
    view%dims(1:2) = [nx, ny]
    view%strides(1:2) = [1, nx + 2*ghost]
    call ok(fz_compress_view(plan, c_null_ptr, view, c_loc(container), capacity, bytes), "compress_view")
    view%origin = c_loc(same(1, 1))
    call ok(fz_decompress_view(c_null_ptr, c_null_ptr, c_loc(container), bytes, view, restored), "decompress_view")
    call check(restored == 4*nx*ny .and. all(abs(same(1:nx, 1:ny) - grid(1:nx, 1:ny)) <= 0), "the interior")
    call check(all(abs(same(:0, :) - 9.0) <= 0) .and. all(abs(same(:, ny + 1:) - 9.0) <= 0), "ghost cells")

    call get_command_argument(0, path)
    path = trim(path)//".fzs"
    interior = grid(1:nx, 1:ny)
    call ok(fz_series_writer_open(fz_c(path), 0_c_int32_t, writer), "series_writer_open")
    call ok(fz_series_append(writer, fz_c("first"), plan, c_null_ptr, c_loc(interior), c_sizeof(interior), at), "append")
    call ok(fz_series_append_container(writer, fz_c(""), c_loc(container), bytes, at), "append_container")
    call check(at == 1, "the position of a step")
    call ok(fz_series_begin(writer, fz_c("slabs"), FZ_F32, [int(nx, c_int64_t), 2_c_int64_t*ny], 2_c_int32_t, &
      int(ny, c_int64_t)), "begin")
    call gives(FZ_PLAN_MISMATCH, fz_series_end(writer, at), "an end without slabs")
    call ok(fz_series_slab(writer, c_loc(container), bytes), "slab")
    call ok(fz_series_slab(writer, c_loc(container), bytes), "slab")
    call ok(fz_series_end(writer, at), "end")
    call ok(fz_series_begin(writer, fz_c("none"), FZ_F32, [int(nx, c_int64_t)], 1_c_int32_t, 1_c_int64_t), "begin")
    call ok(fz_series_abandon(writer), "abandon")
    call fz_series_writer_free(writer)
    call ok(fz_series_open(fz_c(path), series), "series_open")
    summary%struct_bytes = int(c_sizeof(summary), c_int32_t)
    call ok(fz_series_info(series, summary), "series_info")
    call check(summary%steps == 3 .and. summary%indexed == 1 .and. summary%lost_bytes == 0, "the steps")
    call ok(fz_series_find(series, fz_c("slabs"), at), "find")
    step%struct_bytes = int(c_sizeof(step), c_int32_t)
    call ok(fz_series_step_info(series, at, step), "step_info")
    call check(fz_f(step%name) == "slabs" .and. step%slabs == 2 .and. step%dims(2) == 2*ny .and. step%dims(3) == 1, "a step")
    interior = 0
    call ok(fz_series_read(series, 0_c_int64_t, c_null_ptr, c_loc(interior), c_sizeof(interior), restored), "read")
    call check(all(abs(interior - grid(1:nx, 1:ny)) <= 0), "the first step")
    call ok(fz_series_read_region(series, at, [0_c_int64_t, int(ny + 3, c_int64_t)], [int(nx, c_int64_t), 1_c_int64_t], &
      2_c_int32_t, c_loc(row), c_sizeof(row), restored), "read_region")
    call check(all(abs(row - grid(1:nx, 4)) <= 0), "a row of the second slab")
    call fz_series_free(series)
    call fz_plan_free(plan)
    open (newunit=i, file=trim(path), status="old")
    close (i, status="delete")
  end subroutine views_and_series

  subroutine texts()
    character(len=*), parameter :: chain = "quantizer(eb=0.5,mode=abs) > rze"
    character(kind=c_char), allocatable, target :: letters(:)
    type(c_ptr) :: pipeline = c_null_ptr, again = c_null_ptr
    integer(c_int64_t) :: bytes
    call ok(fz_pipeline_from_text(fz_c(chain), pipeline), "from_text")
    call ok(fz_pipeline_to_toml(pipeline, c_null_ptr, 0_c_int64_t, bytes), "to_toml")
    allocate (letters(bytes))
    call ok(fz_pipeline_to_toml(pipeline, c_loc(letters), bytes, bytes), "to_toml")
    call ok(fz_pipeline_from_toml(letters, again), "from_toml")
    call ok(fz_pipeline_to_text(again, c_loc(letters), bytes, bytes), "to_text")
    call check(fz_f(letters) == chain, "a chain and back")
    call gives(FZ_UNKNOWN_NAME, fz_pipeline_from_preset(fz_c("none"), FZ_F32, pipeline), "no such preset")
    call fz_pipeline_free(again)
    call fz_pipeline_free(pipeline)
  end subroutine texts

  subroutine listings()
    type(fz_stage_t) :: stage
    type(fz_port_t) :: port
    type(fz_parameter_t) :: parameter_
    type(fz_preset_t) :: preset
    type(c_ptr) :: pipeline = c_null_ptr
    integer(c_int32_t) :: count, i
    stage%struct_bytes = int(c_sizeof(stage), c_int32_t)
    port%struct_bytes = int(c_sizeof(port), c_int32_t)
    parameter_%struct_bytes = int(c_sizeof(parameter_), c_int32_t)
    preset%struct_bytes = int(c_sizeof(preset), c_int32_t)
    call ok(fz_stage_count(count), "stage_count")
    do i = 0, count - 1
      call ok(fz_stage_info(i, stage), "stage_info")
      call ok(fz_stage_port(i, FZ_PORT_OUTPUT, 0_c_int32_t, port), "stage_port")
      call check(len(fz_f(stage%name)) > 0 .and. len(fz_f(stage%about)) > 0 .and. len(fz_f(port%name)) > 0, "names")
      if (stage%parameters > 0) call ok(fz_stage_parameter(i, 0_c_int32_t, parameter_), "stage_parameter")
    end do
    call ok(fz_preset_count(count), "preset_count")
    do i = 0, count - 1
      call ok(fz_preset_info(i, preset), "preset_info")
      call ok(fz_pipeline_from_preset(preset%name, FZ_F64, pipeline), "from_preset")
      call ok(fz_pipeline_stage_count(pipeline, count), "pipeline_stage_count")
      call ok(fz_pipeline_stage_info(pipeline, count - 1, stage), "pipeline_stage_info")
      call ok(fz_pipeline_stage_port(pipeline, count - 1, FZ_PORT_INPUT, 0_c_int32_t, port), "pipeline_stage_port")
      call check(port%producer == count - 2, "what it reads")
      call ok(fz_pipeline_stage_parameter(pipeline, count - 1, 0_c_int32_t, parameter_), "pipeline_stage_parameter")
      call check(len(fz_f(parameter_%name)) > 0, "its first parameter")
      if (fz_f(preset%name) == "pfpl") then
        call check(fz_f(stage%name) == "rze", "the last stage")
        call check(fz_f(parameter_%name) == "chunk_size" .and. nint(parameter_%value) == 16384, "its parameter")
      end if
      call fz_pipeline_free(pipeline)
      call ok(fz_preset_count(count), "preset_count")
    end do
  end subroutine listings

  ! A GPU has a name; without one every call reports that there is none.
  subroutine devices()
    type(fz_device_t) :: device
    type(c_ptr) :: pipeline = c_null_ptr, plan = c_null_ptr, decoder = c_null_ptr, workspace = c_null_ptr
    type(fz_result_t), target :: outcome
    integer(c_int8_t), target :: a(100), b(100), grid(200)
    type(fz_view_t) :: view
    integer(c_int32_t) :: count, status
    device%struct_bytes = int(c_sizeof(device), c_int32_t)
    status = fz_device_count(count)
    call gives(status, fz_device_info(0_c_int32_t, device), "device_info")
    if (status == FZ_OK) then
      call check(len(fz_f(device%name)) > 0, "a device has a name")
      return
    end if
    call gives(FZ_NO_DEVICE, status, "device_count")
    call ok(fz_pipeline_from_text(fz_c("rze"), pipeline), "from_text")
    call ok(fz_pipeline_finalize(pipeline, FZ_I8, [100_c_int64_t], 1_c_int32_t, c_null_ptr, plan), "finalize")
    call ok(fz_plan_decoder(plan, decoder), "decoder")
    call ok(fz_workspace_new(plan, workspace), "workspace")
    call gives(FZ_NO_DEVICE, fz_plan_preload(plan, workspace, c_null_ptr), "preload")
    call gives(FZ_NO_DEVICE, fz_compress_async(plan, workspace, c_loc(a), 100_c_int64_t, c_loc(b), 100_c_int64_t, &
      c_loc(outcome), c_null_ptr), "compress_async")
    view%struct_bytes = int(c_sizeof(view), c_int32_t)
    view%dtype = FZ_I8
    view%ndim = 1
    view%origin = c_loc(grid)
    view%dims(1) = 100
    view%strides(1) = 2
    call gives(FZ_NO_DEVICE, fz_compress_view_async(plan, workspace, view, c_loc(a), 100_c_int64_t, c_loc(b), 100_c_int64_t, &
      c_loc(outcome), c_null_ptr), "compress_view_async")
    call fz_workspace_free(workspace)
    call ok(fz_workspace_new(decoder, workspace), "workspace")
    call gives(FZ_NO_DEVICE, fz_decompress_async(decoder, workspace, c_loc(b), 100_c_int64_t, c_loc(a), 100_c_int64_t, &
      c_loc(outcome), c_null_ptr), "decompress_async")
    call gives(FZ_NO_DEVICE, fz_decompress_view_async(decoder, workspace, c_loc(b), 100_c_int64_t, view, c_loc(a), &
      100_c_int64_t, c_loc(outcome), c_null_ptr), "decompress_view_async")
    call fz_workspace_free(workspace)
    call fz_plan_free(decoder)
    call fz_plan_free(plan)
    call fz_pipeline_free(pipeline)
  end subroutine devices

end program test_fortran
